//! Elections: one leader among candidates.

mod attribute;
mod latch;
mod misuse;
mod selector;
mod sync;
mod terms;

use std::future::pending;

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use zklock::{Election, LeaderSelector, Leadership};

/// Runs a selector whose callback goes on until it is dropped, and returns the terms that it begins.
fn select(election: Election) -> (LeaderSelector, UnboundedReceiver<Leadership>) {
    let (told, led) = unbounded_channel();
    let selector = election.select(move |term| {
        told.send(term).unwrap();
        pending::<()>()
    });
    (selector, led)
}

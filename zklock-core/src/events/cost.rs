//! The allocations of a life and its spans: none, unless somebody listens.

use std::borrow::Cow;

use tracing::level_filters::LevelFilter;

use crate::error::LockError;
use crate::mode::Mode;
use crate::path::NodePath;
use crate::token::FencingToken;

use super::hub::{Hub, Source};
use super::life::{Attempt, Candidacy};
use super::spans::HoldSpan;
use super::subject::Subject;

/// Returns the number of allocations of everything that can happen to lives and their spans.
fn allocations(hub: Option<&Hub>) -> u64 {
    let (path, label) = (NodePath::new("/root", "/orders/7").unwrap(), Cow::Borrowed("/orders/{id}"));
    let subject = Subject { path: &path, label: &label, mode: Mode::Permit, group: None };
    let (token, error) = (FencingToken::new(7), LockError::contended("/orders/7".to_owned()));
    let lives = || {
        let begin = || Attempt::begin(hub.cloned(), subject);
        drop(begin());
        begin().contended();
        begin().failed(&error);
        let attempt = begin();
        attempt.witness().queued(1);
        for holding in attempt.acquired(token, 2) {
            holding.takes_turn();
            holding.witness().suspended();
            holding.witness().confirmed();
            holding.released();
        }
        let candidacy = Candidacy::begin(hub.cloned(), subject);
        candidacy.elected(token).passed_on();
        candidacy.rejected(&error);
        let span = HoldSpan::begin(&subject, token);
        if let Some(span) = &span {
            span.note(&error);
        }
    };
    // The first use of a span by a thread allocates once.
    lives();
    allocation_counter::measure(lives).count_total
}

fn under_a_subscriber(most: LevelFilter, measured: impl FnOnce() -> u64) -> u64 {
    let subscriber = tracing_subscriber::fmt().with_max_level(most).with_writer(std::io::sink);
    tracing::subscriber::with_default(subscriber.finish(), measured)
}

#[test]
fn lives_and_spans_allocate_only_while_somebody_listens() {
    assert_eq!(allocations(None), 0);
    assert_eq!(under_a_subscriber(LevelFilter::WARN, || allocations(None)), 0);
    let source = Source::new();
    let _events = source.listen();
    assert!(allocations(source.hub().as_ref()) > 0);
    // It comes last, because `tracing` remembers that its spans were wanted.
    assert!(under_a_subscriber(LevelFilter::INFO, || allocations(None)) > 0);
}

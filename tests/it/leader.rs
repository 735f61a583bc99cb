//! Elections: one leader among candidates.

mod candidates;
mod cluster;
mod latch;
mod outage;
mod selector;
mod terms;

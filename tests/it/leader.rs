//! Elections: one leader among candidates.

mod candidates;
mod cluster;
mod latch;
mod outage;
mod process;
mod selector;
mod terms;

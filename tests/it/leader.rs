//! Elections: one leader among candidates.

mod attribute;
mod candidates;
mod cluster;
mod latch;
mod outage;
mod process;
mod selector;
mod terms;

//! Elections: one leader among candidates.

mod latch;
mod selector;

//! Elections: one leader among candidates.

mod attribute;
mod latch;
mod selector;

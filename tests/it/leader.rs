//! Elections: one leader among candidates.

mod attribute;
mod crossing;
mod kept;
mod latch;
mod misuse;
mod on_lost;
mod outage;
mod process;
mod refused;
mod selector;
mod sync;
mod terms;

//! Generates the function that the compiler sees in place of the annotated one.
//!
//! Uses only `args`, `arguments`, `boxed`, `erased`, `errors`, `grouped`, `kind`, `leader`, `on_lost`, `once`, `otherwise`, `path`,
//! `recipe`, `shared`, `target` and `wait`.

mod body;
mod ending;
mod flow;
mod item;
mod leader;
mod lock;
mod span;

pub(crate) use leader::leader_only;
pub(crate) use lock::distributed_lock;

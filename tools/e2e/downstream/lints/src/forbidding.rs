//! The same functions in a crate that forbids every group of lints, so that no generated code may allow one of them.
//!
//! `#[async_trait]` allows some, and so its methods are missing.

#![forbid(
    warnings,
    future_incompatible,
    let_underscore,
    nonstandard_style,
    refining_impl_trait,
    rust_2018_idioms,
    rust_2021_compatibility,
    rust_2024_compatibility,
    unreachable_code,
    unused,
    clippy::all,
    clippy::nursery,
    clippy::pedantic
)]

pub mod blocking;
pub mod contended;
pub mod leaders;
pub mod locks;
pub mod methods;
pub mod once;
#[cfg(test)]
mod tests;

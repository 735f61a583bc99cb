//! Annotated functions of every form, under nearly all lints of rustc and clippy.
//!
//! They only have to compile: a lint that fires here comes from the code that an attribute generates.

#![deny(
    warnings,
    absolute_paths_not_starting_with_crate,
    closure_returning_async_block,
    explicit_outlives_requirements,
    future_incompatible,
    impl_trait_redundant_captures,
    keyword_idents,
    let_underscore_drop,
    missing_copy_implementations,
    missing_debug_implementations,
    missing_docs,
    non_ascii_idents,
    nonstandard_style,
    redundant_lifetimes,
    rust_2018_idioms,
    rust_2021_compatibility,
    rust_2024_compatibility,
    single_use_lifetimes,
    trivial_casts,
    trivial_numeric_casts,
    unit_bindings,
    unnameable_types,
    unreachable_pub,
    unused,
    unused_import_braces,
    unused_lifetimes,
    unused_qualifications,
    unused_results,
    variant_size_differences,
    clippy::all,
    clippy::pedantic,
    clippy::nursery,
    clippy::restriction
)]
#![allow(
    clippy::blanket_clippy_restriction_lints,
    clippy::exhaustive_structs,
    clippy::implicit_return,
    clippy::impl_trait_in_params,
    clippy::missing_inline_in_public_items,
    clippy::missing_trait_methods,
    clippy::question_mark_used,
    clippy::shadow_same,
    clippy::single_call_fn,
    clippy::std_instead_of_alloc,
    reason = "they are about code as its author writes it, and not about generated code"
)]

pub mod blocking;
pub mod boxed;
pub mod contended;
pub mod leaders;
pub mod locks;
pub mod methods;
pub mod once;
pub mod reported;
#[cfg(test)]
mod tests;

//! Functions that the attributes accept without a warning of the compiler. They only have to compile.

#![deny(warnings)]
#![allow(clippy::all, reason = "some functions are unidiomatic on purpose")]

pub mod bodies;
pub mod contended;
pub mod no_implicit_prelude;
pub mod renamed_crate;
pub mod signatures;

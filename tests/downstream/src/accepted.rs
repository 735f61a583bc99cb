//! Functions that the attributes accept, and of which the compiler says nothing; they only have to compile.

#![deny(warnings)]
#![allow(clippy::all, reason = "some are written as nobody would")]

pub mod bodies;
pub mod leaders;
pub mod no_implicit_prelude;
pub mod receivers;
pub mod renamed_crate;
pub mod signatures;
pub mod sync;

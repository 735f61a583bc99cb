//! Core.
#![allow(dead_code)]
mod error;
mod path;
mod queue;
mod lease { pub use std::io::Error as X; #[derive(Clone,Copy,Debug)] pub enum LossReason { A } impl std::fmt::Display for LossReason { fn fmt(&self, _f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { Ok(()) } } }
pub use error::*;

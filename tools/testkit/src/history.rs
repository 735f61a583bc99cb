//! The history of a campaign: the calls that many processes made at locks, the answers that they had, and the effects
//! that they caused.
//!
//! Each process writes its own [`Record`]s, one line of JSON each, with times of the clock that all processes of the
//! machine share and that no suspension stops (`CLOCK_BOOTTIME`). The module has no clock and no files of its own: the
//! writer gives each time, and lines are read from a [`BufRead`](std::io::BufRead).
//!
//! This module may use only `error`.

pub mod access;
pub mod call;
pub mod campaign;
pub mod check;
pub mod event;
pub mod hold;
pub mod linear;
pub mod lines;
mod merged;
#[cfg(test)]
mod property;
pub mod record;
pub mod source;
#[cfg(test)]
mod story;
mod summary;
mod violation;

pub use access::{Outcome, Way};
pub use call::Call;
pub use check::Bounds;
pub use event::{Event, Kind, Library, Token, Why};
pub use hold::{Ending, Hold};
pub use lines::{read, write};
pub use merged::History;
pub use record::Record;
pub use source::{CallId, Process, Source};
pub use summary::Summary;
pub use violation::{Findings, Rule, Violation};

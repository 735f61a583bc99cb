//! The history of a campaign: the calls that many processes made at locks, the answers that they had, and the effects
//! that they caused.
//!
//! Each process writes its own [`Record`]s, one line of JSON each, with times of the clock that all processes of the
//! machine share and that no suspension stops (`CLOCK_BOOTTIME`). The module has no clock and no files of its own: the
//! writer gives each time, and lines are read from a [`BufRead`](std::io::BufRead). It uses no other module.

mod campaign;
pub(crate) mod check;
mod event;
mod hold;
mod merged;
mod record;
#[cfg(test)]
mod story;
mod summary;
mod violation;

pub(crate) use self::campaign::{Campaign, Force, Life};
pub(crate) use self::check::Bounds;
pub(crate) use self::event::{Event, Kind, Outcome, Token, Way, Why};
pub(crate) use self::hold::{Call, Ending, Hold, collect, derive, excludes};
pub(crate) use self::merged::History;
pub(crate) use self::record::{CallId, Process, Record, Source, read};
#[cfg(test)]
pub(crate) use self::story::{Story, rules, source};
pub(crate) use self::summary::Summary;
pub(crate) use self::violation::{Rule, Violation, both, life, millis};

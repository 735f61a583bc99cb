//! The events of a client's locks and candidates, for logs, metrics and tests.
//!
//! * [`event`]: an event, and its kinds.
//! * [`life`]: the life of one call's attempt, or of one candidate, which tells each of its ends once.
//! * [`course`]: the events that a life may have next, and their order.
//! * [`hub`]: delivers events to listeners.
//! * [`spans`]: the spans of calls for `tracing`, which are those of their callers' tasks.
//! * [`subject`], [`outcome`]: the lock that a life or a span is about, and the ends of its wait.
//! * `meter`, `times`: count the events for the feature `metrics`.
//!
//! Uses the floors below: `path`, `mode`, `token`, `error` and `interleaving`.

mod course;
mod event;
mod hub;
mod life;
#[cfg(feature = "metrics")]
mod meter;
mod outcome;
mod spans;
mod subject;
#[cfg(feature = "metrics")]
mod times;

pub use self::event::{LockEvent, LockEventKind};
pub use self::hub::Events;
pub(crate) use self::hub::{Hub, Source};
pub(crate) use self::life::{Attempt, Candidacy, Holding, Witness};
#[cfg(feature = "metrics")]
pub(crate) use self::meter::{Calls, Meter, Series};
pub(crate) use self::spans::{HoldSpan, WaitSpan};
pub(crate) use self::subject::Subject;
#[cfg(feature = "metrics")]
pub(crate) use self::times::Times;

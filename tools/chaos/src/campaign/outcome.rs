//! The outcome of a campaign and of its parts.

use std::error::Error;

pub(super) type Outcome<T = ()> = Result<T, Box<dyn Error + Send + Sync>>;

/// The result of a campaign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Kept,
    Broken,
}

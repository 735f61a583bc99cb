//! The kinds of errors that end a wait.

use crate::error::LockError;

/// The kind of an error that ended a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    TimedOut,
    /// The servers, or the other participants' settings, do not allow the call.
    Refused,
    Other,
}

impl Failure {
    pub(super) fn of(error: &LockError) -> Self {
        match error {
            LockError::Timeout { .. } => Self::TimedOut,
            LockError::Denied { .. }
            | LockError::AuthFailed { .. }
            | LockError::Tls { .. }
            | LockError::Refused { .. }
            | LockError::MixedRecipes { .. }
            | LockError::PermitsDiffer { .. }
            | LockError::InvalidPermits { .. } => Self::Refused,
            _ => Self::Other,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::TimedOut => "timed_out",
            Self::Refused => "refused",
            Self::Other => "failed",
        }
    }
}

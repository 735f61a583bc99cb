//! The ends of a wait.

use crate::error::LockError;

/// The end of a call's wait for a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Acquired,
    Contended,
    TimedOut,
    Cancelled,
    /// The servers, or the other participants' settings, do not allow the call.
    Refused,
    Failed,
}

impl Outcome {
    /// All of them, each at the place `outcome as usize`.
    #[cfg(feature = "metrics")]
    pub(crate) const ALL: [Self; 6] =
        [Self::Acquired, Self::Contended, Self::TimedOut, Self::Cancelled, Self::Refused, Self::Failed];

    /// Returns the end of a wait by this error.
    pub(super) fn of(error: &LockError) -> Self {
        match error {
            LockError::Timeout { .. } => Self::TimedOut,
            LockError::Denied { .. }
            | LockError::AuthFailed { .. }
            | LockError::Tls { .. }
            | LockError::Kerberos { .. }
            | LockError::Refused { .. }
            | LockError::MixedRecipes { .. }
            | LockError::PermitsDiffer { .. }
            | LockError::InvalidPermits { .. } => Self::Refused,
            _ => Self::Failed,
        }
    }

    /// Returns the name for the values of labels and fields.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Acquired => "acquired",
            Self::Contended => "contended",
            Self::TimedOut => "timed_out",
            Self::Cancelled => "cancelled",
            Self::Refused => "refused",
            Self::Failed => "failed",
        }
    }
}

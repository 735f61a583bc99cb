//! The error of a setting that cannot be used.

use crate::error::LockError;

pub(super) fn invalid(setting: &'static str, reason: impl Into<String>) -> LockError {
    LockError::InvalidConfig { setting, reason: reason.into() }
}

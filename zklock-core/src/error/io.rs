//! The conversion of errors into `std::io::Error`.

use super::{LockError, Refusal};

impl From<LockError> for std::io::Error {
    fn from(error: LockError) -> Self {
        use std::io::ErrorKind;
        let kind = match &error {
            LockError::Timeout { .. } => ErrorKind::TimedOut,
            LockError::Denied { .. }
            | LockError::AuthFailed { .. }
            | LockError::Tls { .. }
            | LockError::Kerberos { .. } => ErrorKind::PermissionDenied,
            LockError::Connect { .. } => ErrorKind::NotConnected,
            LockError::Closed { .. } => ErrorKind::BrokenPipe,
            LockError::Refused { refusal: Refusal::NoNode, .. } => ErrorKind::NotFound,
            LockError::Refused { refusal: Refusal::NodeExists, .. } => ErrorKind::AlreadyExists,
            invalid if invalid.is_invalid() => ErrorKind::InvalidInput,
            _ => ErrorKind::Other,
        };
        Self::new(kind, error)
    }
}

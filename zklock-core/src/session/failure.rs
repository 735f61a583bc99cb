//! The failures to open a session.

use std::fmt;

use zookeeper_client as zk;

use crate::error::LockError;

/// The reason why no session was opened.
#[derive(Clone, Debug)]
pub(crate) enum OpenError {
    /// No session could be opened now. Another attempt may succeed.
    Unreachable(String),
    /// The session that was to be kept is over.
    Expired,
    /// The servers refused the credentials.
    AuthFailed,
    /// Client and servers do not trust each other's certificates.
    #[cfg(feature = "tls")]
    Untrusted(String),
    /// The configuration cannot work.
    Invalid(LockError),
}

impl OpenError {
    /// Returns `true` if another attempt cannot succeed.
    pub(crate) fn is_final(&self) -> bool {
        !matches!(self, Self::Unreachable(_) | Self::Expired)
    }
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable(reason) => f.write_str(reason),
            Self::Expired => f.write_str("the session has expired"),
            Self::AuthFailed => f.write_str("the servers refuse the credentials"),
            #[cfg(feature = "tls")]
            Self::Untrusted(reason) => f.write_str(reason),
            Self::Invalid(error) => error.fmt(f),
        }
    }
}

impl From<zk::Error> for OpenError {
    fn from(error: zk::Error) -> Self {
        match error {
            zk::Error::AuthFailed => Self::AuthFailed,
            zk::Error::SessionExpired => Self::Expired,
            zk::Error::BadArguments(reason) => {
                Self::Invalid(LockError::InvalidConfig { setting: "connect", reason: (*reason).to_owned() })
            }
            zk::Error::NoHosts => Self::Unreachable("no server accepted the connection".into()),
            zk::Error::Timeout => Self::Unreachable("no server answered".into()),
            other => Self::Unreachable(other.to_string()),
        }
    }
}

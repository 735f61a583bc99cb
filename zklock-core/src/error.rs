//! What can go wrong, as one enum that says which path and which cause.

mod cause;
mod loss;

use std::time::Duration;

pub use self::cause::{Phase, Refusal};
pub use self::loss::LossReason;

/// Why a lock could not be taken, was lost, or a request under it was not applied.
///
/// Contention is not a failure: `try_lock` says it as `Ok(None)`, and a timed acquisition as
/// [`LockError::Timeout`]. Every variant that concerns a lock names its path as the caller wrote it.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LockError {
    /// The path cannot name a node; nothing was sent.
    #[error("invalid path {path:?}: {reason}")]
    InvalidPath {
        /// The path as given, cut if it is very long.
        path: String,
        /// What is wrong with it.
        reason: String,
    },

    /// A duration that no acquisition can be bounded by; nothing was sent.
    #[error("invalid wait for lock {path}: {reason}")]
    InvalidWait {
        /// The lock's path.
        path: String,
        /// What is wrong with the duration.
        reason: &'static str,
    },

    /// The current call holds this lock already, which is not reentrant: it would wait for itself.
    #[error("lock {path} is held by this call already, and is not reentrant")]
    Reentrant {
        /// The lock's path.
        path: String,
    },

    /// The current call reads under this lock already, and would wait for itself to write.
    #[error("lock {path} is held by this call for reading: release it before writing")]
    Upgrade {
        /// The lock's path.
        path: String,
    },

    /// A number of permits that can never be had, or that is not shared in the way that others share it.
    #[error("{wanted} permits of semaphore {path} cannot be had: {reason}")]
    InvalidPermits {
        /// The semaphore's path.
        path: String,
        /// The number that was asked for.
        wanted: u32,
        /// What is wrong with it.
        reason: String,
    },

    /// Others use this semaphore with another number of permits.
    #[error("semaphore {path} has {theirs} permits for those who use it, and {ours} here")]
    PermitsDiffer {
        /// The semaphore's path.
        path: String,
        /// The number that this client was given.
        ours: u32,
        /// The number that the others go by.
        theirs: u32,
    },

    /// Members that cannot be locked together; nothing was sent.
    #[error("cannot lock these together: {reason}")]
    InvalidGroup {
        /// What is wrong with them.
        reason: String,
    },

    /// The path is in use by locks of another kind, which this one would not exclude.
    #[error("lock {path} is {own}, and is in use as {other}")]
    MixedRecipes {
        /// The lock's path.
        path: String,
        /// What this client takes it for.
        own: String,
        /// What others use it as.
        other: String,
    },

    /// This client does not lead, and was asked to do what the leader does.
    #[error("this client does not lead at {path}")]
    NotLeader {
        /// The election's path.
        path: String,
    },

    /// A function that is not async was called where waiting for its lock would stop a runtime; nothing was sent.
    #[error(
        "waiting for lock {path} would block a current-thread runtime: make the function async, or call it \
         through `spawn_blocking`"
    )]
    WouldBlockRuntime {
        /// The lock's path.
        path: String,
    },

    /// A setting of [`Config`](crate::Config) that cannot work; nothing was sent.
    #[error("invalid setting `{setting}`: {reason}")]
    InvalidConfig {
        /// The setting's name.
        setting: &'static str,
        /// What is wrong with it.
        reason: String,
    },

    /// No client was installed under this name before a lock was asked for.
    #[error("{}", not_installed(.name.as_deref(), .path.as_deref()))]
    NotInstalled {
        /// The name asked for, or `None` for the default client.
        name: Option<String>,
        /// The lock that was to be taken, where one was.
        path: Option<String>,
    },

    /// A client is installed under this name already; the first one stays.
    #[error("{}", already_installed(.name.as_deref()))]
    AlreadyInstalled {
        /// The name asked for, or `None` for the default client.
        name: Option<String>,
    },

    /// No server of the connect string gave us a session in time.
    #[error("cannot connect to ZooKeeper at {endpoints} within {waited:?}: {reason}")]
    Connect {
        /// The servers that were tried.
        endpoints: String,
        /// How long they were tried.
        waited: Duration,
        /// The last failure.
        reason: String,
    },

    /// The deadline passed before the work was done. A contender left behind is being withdrawn.
    #[error("timed out after {waited:?} {phase} {path}")]
    Timeout {
        /// The lock's path.
        path: String,
        /// The whole time given.
        waited: Duration,
        /// What was still being waited for.
        phase: Phase,
    },

    /// The lock was lost while it was held; see the reason.
    #[error("lock {path} was lost: {reason}")]
    Lost {
        /// The lock's path.
        path: String,
        /// Why the lease ended.
        reason: LossReason,
    },

    /// The server's ACLs deny this client a request on this path.
    #[error("access to {path} denied: check the ACLs and this client's digests")]
    Denied {
        /// The path.
        path: String,
    },

    /// The servers refuse this client's credentials.
    #[error("ZooKeeper at {endpoints} refuses the credentials of this client")]
    AuthFailed {
        /// The servers of the connect string.
        endpoints: String,
    },

    /// The server refused a request for a reason of its own; the request was not applied.
    #[error("request on {path} refused: {refusal}")]
    Refused {
        /// The path of the request.
        path: String,
        /// The server's reason.
        refusal: Refusal,
    },

    /// The connection broke before the outcome of a write was known: it was applied or not.
    ///
    /// If it was a guarded one and was applied, the lock was held at that moment.
    #[error("the outcome of a write to {path} is unknown: {reason}")]
    OutcomeUnknown {
        /// The path of the write.
        path: String,
        /// What broke.
        reason: String,
    },

    /// The client is shutting down or has been shut down.
    #[error("the client is closed, nothing was done about lock {path}")]
    Closed {
        /// The lock's path.
        path: String,
    },
}

impl LockError {
    /// Tells whether the deadline passed.
    pub fn is_timeout(&self) -> bool {
        matches!(self, Self::Timeout { .. })
    }

    /// Tells whether another holder was in the way until the deadline passed.
    pub fn is_contended(&self) -> bool {
        matches!(self, Self::Timeout { phase: Phase::Queued, .. })
    }

    /// Tells whether a lock that had been held was lost.
    pub fn is_lost(&self) -> bool {
        matches!(self, Self::Lost { .. })
    }

    /// Tells whether this client was asked to do what only the leader does.
    pub fn is_not_leader(&self) -> bool {
        matches!(self, Self::NotLeader { .. })
    }

    /// Tells whether the client was shut down.
    pub fn is_closed(&self) -> bool {
        matches!(self, Self::Closed { .. })
    }

    /// Tells whether the caller's input or configuration is at fault, so that trying again cannot help.
    pub fn is_invalid(&self) -> bool {
        matches!(
            self,
            Self::InvalidPath { .. }
                | Self::InvalidWait { .. }
                | Self::InvalidConfig { .. }
                | Self::InvalidPermits { .. }
                | Self::InvalidGroup { .. }
                | Self::Reentrant { .. }
                | Self::Upgrade { .. }
                | Self::WouldBlockRuntime { .. }
                | Self::NotInstalled { .. }
                | Self::AlreadyInstalled { .. }
        )
    }
}

fn not_installed(name: Option<&str>, path: Option<&str>) -> String {
    let lock = path.map(|path| format!(" to lock {path}")).unwrap_or_default();
    match name {
        Some(name) => {
            format!("no client is installed as {name:?}{lock}: call `zklock::install_as` at start-up")
        }
        None => format!("no client is installed{lock}: call `zklock::install` at start-up"),
    }
}

fn already_installed(name: Option<&str>) -> String {
    match name {
        Some(name) => format!("a client is installed as {name:?} already"),
        None => "a client is installed already".to_owned(),
    }
}

impl From<LockError> for std::io::Error {
    fn from(error: LockError) -> Self {
        use std::io::ErrorKind;
        let kind = match &error {
            LockError::Timeout { .. } => ErrorKind::TimedOut,
            LockError::Denied { .. } | LockError::AuthFailed { .. } => ErrorKind::PermissionDenied,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeout_names_the_path_and_what_was_waited_for() {
        let error = LockError::Timeout {
            path: "/orders/7".into(),
            waited: Duration::from_secs(5),
            phase: Phase::Queued,
        };
        assert_eq!(error.to_string(), "timed out after 5s waiting behind others for lock /orders/7");
        assert!(error.is_timeout() && error.is_contended() && !error.is_lost());
    }

    #[test]
    fn an_io_error_keeps_the_lock_error_inside() {
        let error = std::io::Error::from(LockError::Denied { path: "/a".into() });
        assert_eq!(error.kind(), std::io::ErrorKind::PermissionDenied);
        let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<LockError>());
        assert!(matches!(inner, Some(LockError::Denied { path }) if path == "/a"));
    }

    #[test]
    fn a_call_in_the_wrong_place_is_invalid_input() {
        let error = LockError::WouldBlockRuntime { path: "/a".into() };
        assert!(error.is_invalid() && !error.is_timeout());
        assert_eq!(std::io::Error::from(error).kind(), std::io::ErrorKind::InvalidInput);
    }

    #[test]
    fn a_missing_client_is_named() {
        let error = LockError::NotInstalled { name: Some("reporting".into()), path: Some("/a".into()) };
        assert_eq!(
            error.to_string(),
            "no client is installed as \"reporting\" to lock /a: call `zklock::install_as` at start-up"
        );
    }
}

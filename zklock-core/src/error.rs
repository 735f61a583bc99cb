//! Every error of the crate, in one enum whose variants name the path and the cause.
//!
//! Uses no other module of the crate.

mod cause;

use std::fmt;
use std::time::Duration;

pub use self::cause::{Holder, LossReason, Permission, Phase, Refusal};

/// The error of an operation: a lock could not be acquired, was lost, or a request under it was not applied.
///
/// Contention is not a failure: `try_lock` reports it as `Ok(None)`, and a timed acquisition as [`LockError::Timeout`].
/// Every variant about a lock contains its path below the namespace, or that of the node that the request is about. For
/// a semaphore, that can be the path of one of its queues, `PATH/locks` or `PATH/leases`, or of its shared number.
///
/// The text of `Debug`, which `unwrap` and `main` show, begins with that of `Display`.
#[derive(Clone, thiserror::Error)]
#[non_exhaustive]
pub enum LockError {
    /// The path is invalid; no request was sent.
    #[error("invalid path {path:?}: {reason}")]
    InvalidPath {
        /// The path as given, shortened if it is very long.
        path: String,
        /// The cause.
        reason: String,
    },

    /// The duration cannot bound an acquisition; no request was sent.
    #[error("invalid wait for lock {path}: {reason}")]
    InvalidWait {
        /// The lock's path.
        path: String,
        /// The cause.
        reason: &'static str,
    },

    /// The current call already holds this lock, which is not reentrant; it would wait for itself.
    #[error("lock {path} is already held by this call, and is not reentrant")]
    #[non_exhaustive]
    Reentrant {
        /// The lock's path.
        path: String,
    },

    /// The current call already holds this lock for reading; to write, it would wait for itself.
    #[error("lock {path} is held by this call for reading: release it before writing")]
    #[non_exhaustive]
    Upgrade {
        /// The lock's path.
        path: String,
    },

    /// The number of permits is impossible, or other participants keep it in another place.
    #[error("invalid number of permits {wanted} for semaphore {path}: {reason}")]
    #[non_exhaustive]
    InvalidPermits {
        /// The semaphore's path.
        path: String,
        /// The number that is refused: the permits of the call, or the number or the seed of the semaphore. It is 1 if
        /// others do not share the number that this client shares.
        wanted: u32,
        /// The cause.
        reason: String,
    },

    /// Other participants use this semaphore with another number of permits.
    #[error("semaphore {path} has {theirs} permits for others, but {ours} here")]
    #[non_exhaustive]
    PermitsDiffer {
        /// The semaphore's path.
        path: String,
        /// The number that this client was given.
        ours: u32,
        /// The number that the others use.
        theirs: u32,
    },

    /// The members cannot be locked together; no request was sent.
    #[error("cannot lock these paths together: {reason}")]
    #[non_exhaustive]
    InvalidGroup {
        /// The cause.
        reason: String,
    },

    /// The path is in use by locks of another kind, which this lock would not exclude.
    #[error("lock {path} is {own} here, but {other} elsewhere")]
    #[non_exhaustive]
    MixedRecipes {
        /// The lock's path.
        path: String,
        /// The kind of lock that this client uses.
        own: String,
        /// The kind of lock that the others use.
        other: String,
    },

    /// This client was asked to do the leader's work, but does not lead.
    #[error("this client is not the leader at {path}")]
    NotLeader {
        /// The election's path.
        path: String,
    },

    /// A function that is not async was called on a current-thread runtime, which waiting for the lock would
    /// block; no request was sent.
    #[error(
        "waiting for lock {path} would block a current-thread runtime: make the function async, or call it \
         through `spawn_blocking`"
    )]
    WouldBlockRuntime {
        /// The lock's path.
        path: String,
    },

    /// A setting, for example of [`Config`](crate::Config), is invalid.
    #[error("invalid setting `{setting}`: {reason}")]
    InvalidConfig {
        /// The name of the setting.
        setting: &'static str,
        /// The cause.
        reason: String,
    },

    /// No client is installed under this name.
    #[error(
        "no client is installed{}{}: {}",
        named(.name),
        .path.as_ref().map(|path| format!(" to lock {path}")).unwrap_or_default(),
        installation(.name)
    )]
    NotInstalled {
        /// The requested name, or `None` for the default client.
        name: Option<String>,
        /// The path of the lock or election that the client was needed for, if there was one.
        path: Option<String>,
    },

    /// A client is already installed under this name, and stays installed.
    #[error("a client is already installed{}", named(.name))]
    AlreadyInstalled {
        /// The requested name, or `None` for the default client.
        name: Option<String>,
    },

    /// No server of the connect string opened a session in time.
    #[error("cannot connect to ZooKeeper at {endpoints} within {waited:?}: {reason}")]
    #[non_exhaustive]
    Connect {
        /// The servers that were tried.
        endpoints: String,
        /// The time for which they were tried.
        waited: Duration,
        /// The last failure.
        reason: String,
    },

    /// The deadline passed before the operation was done. A contender that is left behind is being withdrawn.
    #[error("{}{}", timed_out(.path, *.waited, *.phase), behind(.holder.as_ref()))]
    #[non_exhaustive]
    Timeout {
        /// The lock's path.
        path: String,
        /// The whole time that the operation was given; zero if an annotated function that does not wait finds its lock
        /// taken.
        waited: Duration,
        /// The phase of the operation at the deadline.
        phase: Phase,
        /// The contender in the way, if the client knew one without a request of its own.
        ///
        /// It is not known for the permits of a semaphore that other clients hold, and for elections.
        holder: Option<Holder>,
    },

    /// The lock or leadership was lost while it was held.
    #[error("lock {path} was lost: {reason}")]
    #[non_exhaustive]
    Lost {
        /// The lock's path.
        path: String,
        /// The reason for the loss.
        reason: LossReason,
    },

    /// The ACLs on the server deny this client a request on this path.
    #[error("access to {path} denied{}; check the ACLs and this client's credentials", lacking(*permission))]
    #[non_exhaustive]
    Denied {
        /// The path.
        path: String,
        /// The permission that the client lacks: at the path, at a node right below it such as that of a participant, at
        /// the nearest parent that exists, or at the node of the lock under which a write is made. `None` if the servers
        /// do not tell which request they deny.
        permission: Option<Permission>,
    },

    /// The servers refuse this client's credentials.
    #[error("ZooKeeper at {endpoints} refuses the credentials of this client")]
    #[non_exhaustive]
    AuthFailed {
        /// The servers of the connect string.
        endpoints: String,
    },

    /// The servers refuse an encrypted connection, or this client refuses their certificates.
    #[error("no encrypted connection to ZooKeeper at {endpoints}: {reason}")]
    #[non_exhaustive]
    Tls {
        /// The servers of the connect string.
        endpoints: String,
        /// The reason of each server.
        reason: String,
    },

    /// A request was refused, and was not applied.
    #[error("request on {path} refused: {refusal}")]
    #[non_exhaustive]
    Refused {
        /// The path of the request.
        path: String,
        /// The reason.
        refusal: Refusal,
    },

    /// The outcome of a write is unknown: the connection broke, or no answer came in time.
    ///
    /// The write may or may not have been applied. If a guarded write was applied, the lock was held at that moment.
    /// Any call can also return this error if its task on the client's thread panics, by a bug or by a subscriber of
    /// `tracing`. The session then ends.
    #[error("the outcome of a write to {path} is unknown: {reason}")]
    #[non_exhaustive]
    OutcomeUnknown {
        /// The path of the write.
        path: String,
        /// The failure that hides the outcome.
        reason: String,
    },

    /// The client was started in the process from which this one was forked, and works there alone.
    ///
    /// `fork` copies neither the thread of a client nor its connection. Locks stay those of the parent. A child that needs
    /// locks is another program, or is forked before its parent starts the first client.
    #[error("cannot use lock {path}: the client belongs to the process from which this one was forked")]
    #[non_exhaustive]
    Forked {
        /// The lock's path.
        path: String,
    },

    /// The client is shutting down or has been shut down, or the candidate was closed.
    #[error("{}", closed(.path))]
    Closed {
        /// The lock's path. It is empty if the client itself was asked for.
        path: String,
    },
}

impl LockError {
    /// Returns whether the deadline passed.
    pub fn is_timeout(&self) -> bool {
        matches!(self, Self::Timeout { .. })
    }

    /// Returns whether the deadline passed while the caller waited behind others, or behind a sibling call under the
    /// same hold.
    pub fn is_contended(&self) -> bool {
        matches!(self, Self::Timeout { phase: Phase::Queued | Phase::Sibling, .. })
    }

    /// Returns whether a lock or leadership was lost while it was held.
    pub fn is_lost(&self) -> bool {
        matches!(self, Self::Lost { .. })
    }

    /// Returns whether this client was asked to do the leader's work, but does not lead.
    pub fn is_not_leader(&self) -> bool {
        matches!(self, Self::NotLeader { .. })
    }

    /// Returns whether the client was shut down, or the candidate was closed.
    pub fn is_closed(&self) -> bool {
        matches!(self, Self::Closed { .. })
    }

    /// Returns whether the call, its arguments or the configuration have to be changed.
    /// [`InvalidPermits`](Self::InvalidPermits) can also be due to other participants, and then ends with their
    /// permits.
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

impl From<LockError> for std::io::Error {
    /// Keeps the error inside. The kind is `TimedOut`, `PermissionDenied`, `NotConnected`, `BrokenPipe` for a closed
    /// client, `NotFound`, `AlreadyExists`, `InvalidInput` if [`is_invalid`](LockError::is_invalid), or `Other`.
    fn from(error: LockError) -> Self {
        use std::io::ErrorKind;
        let kind = match &error {
            LockError::Timeout { .. } => ErrorKind::TimedOut,
            LockError::Denied { .. } | LockError::AuthFailed { .. } | LockError::Tls { .. } => {
                ErrorKind::PermissionDenied
            }
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

/// Writes the name of a variant and its fields. It does not compile if one of them is missing.
macro_rules! fields {
    ($error:expr, $f:expr, $($variant:ident { $($field:ident),* })*) => {
        match $error {
            $(LockError::$variant { $($field),* } => {
                $f.debug_struct(stringify!($variant))$(.field(stringify!($field), $field))*.finish()
            })*
        }
    };
}

/// `unwrap`, `main` and failed tests show an error by this.
impl fmt::Debug for LockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}: ")?;
        fields! { self, f,
            InvalidPath { path, reason }
            InvalidWait { path, reason }
            Reentrant { path }
            Upgrade { path }
            InvalidPermits { path, wanted, reason }
            PermitsDiffer { path, ours, theirs }
            InvalidGroup { reason }
            MixedRecipes { path, own, other }
            NotLeader { path }
            WouldBlockRuntime { path }
            InvalidConfig { setting, reason }
            NotInstalled { name, path }
            AlreadyInstalled { name }
            Connect { endpoints, waited, reason }
            Timeout { path, waited, phase, holder }
            Lost { path, reason }
            Denied { path, permission }
            AuthFailed { endpoints }
            Tls { endpoints, reason }
            Refused { path, refusal }
            OutcomeUnknown { path, reason }
            Forked { path }
            Closed { path }
        }
    }
}

fn timed_out(path: &str, waited: Duration, phase: Phase) -> String {
    match phase {
        Phase::Queued if waited.is_zero() => format!("lock {path} is in use, and the call does not wait"),
        _ => format!("timed out after {waited:?} {phase} {path}"),
    }
}

fn behind(holder: Option<&Holder>) -> String {
    holder.map(|holder| format!(": {holder}")).unwrap_or_default()
}

fn named(name: &Option<String>) -> String {
    name.as_ref().map(|name| format!(" as {name:?}")).unwrap_or_default()
}

fn installation(name: &Option<String>) -> &'static str {
    match name {
        Some(_) => "call `zklock::install_as` at start-up, or `TestServer::client_as` in a `#[zklock::test]`",
        None => "call `zklock::install` at start-up; a test that is a `#[zklock::test]` has one",
    }
}

fn closed(path: &str) -> String {
    match path {
        "" => "the client is closed".to_owned(),
        path => format!("cannot use lock {path}: the client is closed"),
    }
}

/// Returns the part of a message that names a permission.
fn lacking(permission: Option<Permission>) -> String {
    permission.map_or_else(String::new, |permission| format!(": this client may not {permission} there"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeout_names_the_path_and_what_was_waited_for() {
        let timeout = |holder| LockError::Timeout {
            path: "/orders/7".into(),
            waited: Duration::from_secs(5),
            phase: Phase::Queued,
            holder,
        };
        let error = timeout(None);
        assert_eq!(error.to_string(), "timed out after 5s waiting behind others for lock /orders/7");
        assert!(error.is_timeout() && error.is_contended() && !error.is_lost());
        let error = timeout(Some(Holder::this_client(1)));
        assert_eq!(
            error.to_string(),
            "timed out after 5s waiting behind others for lock /orders/7: \
             held by another call of this process, or this one outside of its guard's `scope`"
        );
        assert!(error.is_contended());
    }

    #[test]
    fn a_call_is_contended_while_others_or_siblings_are_in_its_way_and_not_while_servers_are() {
        let is_contended = |phase| {
            let (path, waited) = ("/a".into(), Duration::ZERO);
            LockError::Timeout { path, waited, phase, holder: None }.is_contended()
        };
        assert!([Phase::Queued, Phase::Sibling].into_iter().all(is_contended));
        let others = [Phase::Connecting, Phase::Entering, Phase::Releasing, Phase::Requesting];
        assert!(!others.into_iter().any(is_contended));
    }

    #[test]
    fn an_io_error_keeps_the_lock_error_inside() {
        let error = std::io::Error::from(LockError::Denied {
            path: "/a".into(),
            permission: Some(Permission::Create),
        });
        assert_eq!(error.kind(), std::io::ErrorKind::PermissionDenied);
        let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<LockError>());
        assert!(matches!(inner, Some(LockError::Denied { path, .. }) if path == "/a"));
    }

    #[test]
    fn the_kind_of_an_io_error_tells_what_failed() {
        use std::io::ErrorKind;
        let (path, waited) = (|| "/a".to_owned(), Duration::ZERO);
        let refused = |refusal| LockError::Refused { path: path(), refusal };
        let connect = LockError::Connect { endpoints: "h:1".into(), waited, reason: "refused".into() };
        let kinds = [
            (
                LockError::Timeout {
                    path: path(),
                    waited: Duration::ZERO,
                    phase: Phase::Queued,
                    holder: None,
                },
                ErrorKind::TimedOut,
            ),
            (connect, ErrorKind::NotConnected),
            (LockError::Closed { path: path() }, ErrorKind::BrokenPipe),
            (refused(Refusal::NoNode), ErrorKind::NotFound),
            (refused(Refusal::NodeExists), ErrorKind::AlreadyExists),
            (refused(Refusal::SessionFull), ErrorKind::Other),
            (LockError::WouldBlockRuntime { path: path() }, ErrorKind::InvalidInput),
        ];
        for (error, kind) in kinds {
            assert_eq!(std::io::Error::from(error).kind(), kind);
        }
    }

    #[test]
    fn a_missing_client_is_named() {
        let error = LockError::NotInstalled { name: Some("reporting".into()), path: Some("/a".into()) };
        assert_eq!(
            error.to_string(),
            "no client is installed as \"reporting\" to lock /a: call `zklock::install_as` at start-up, or \
             `TestServer::client_as` in a `#[zklock::test]`"
        );
        let error = LockError::NotInstalled { name: None, path: None };
        assert_eq!(
            error.to_string(),
            "no client is installed: call `zklock::install` at start-up; a test that is a `#[zklock::test]` has one"
        );
    }

    #[test]
    fn the_text_for_developers_begins_with_the_message_and_has_all_fields() {
        let error = LockError::Refused { path: "/a".into(), refusal: Refusal::NotEmpty };
        assert_eq!(
            format!("{error:?}"),
            "request on /a refused: the node has children: Refused { path: \"/a\", refusal: NotEmpty }"
        );
        let shown = format!("{:#?}", LockError::NotLeader { path: "/a".into() });
        assert_eq!(shown, "this client is not the leader at /a: NotLeader {\n    path: \"/a\",\n}");
    }

    #[test]
    fn a_closed_client_is_told_with_the_lock_or_without_one() {
        let closed = |path: &str| LockError::Closed { path: path.into() }.to_string();
        assert_eq!(closed("/a"), "cannot use lock /a: the client is closed");
        assert_eq!(closed(""), "the client is closed");
    }
}

//! The one place that classifies failed requests: as definite, or as unknown.

use zookeeper_client as zk;

use crate::error::{LockError, Permission, Refusal};

/// The reason why a request has no result.
#[derive(Clone, Debug)]
pub(crate) enum RequestError {
    /// Definite: the node, or its parent, does not exist.
    NoNode,
    /// Definite: the ACL denies the request, because the client lacks this permission.
    Denied(Option<Permission>),
    /// Definite: the request was not applied, for this reason.
    Refused(Refusal),
    /// The connection broke, and the request may or may not have been applied.
    Unknown(String),
    /// The session is over. Its ephemeral nodes are gone or will be.
    SessionOver,
}

impl RequestError {
    /// Returns `true` if a server certainly answered, which proves that the session was alive.
    ///
    /// Other refusals prove nothing, because some of them, such as the one for bad arguments, are
    /// the client library's own.
    pub(crate) fn is_answer(&self) -> bool {
        matches!(
            self,
            Self::NoNode
                | Self::Denied(_)
                | Self::Refused(Refusal::NodeExists | Refusal::NotEmpty | Refusal::BadVersion)
        )
    }

    /// Classifies a code of `KeeperException.Code` that the client library has no error for.
    ///
    /// ZooKeeper divides its codes: those from -100 downwards are refusals, so this holds for later codes
    /// too. Those above are failures of the system, which say nothing about the request.
    fn from_code(code: i32) -> Self {
        let told = format!("the server answered with the error {code} of `KeeperException.Code`");
        // A client reports the last one itself when no answer came.
        if code <= API_ERROR && code != REQUEST_TIMEOUT {
            Self::Refused(Refusal::Other(told))
        } else {
            Self::Unknown(told)
        }
    }

    /// Names the permission that a denied request needed.
    pub(crate) fn lacking(self, permission: Permission) -> Self {
        match self {
            Self::Denied(_) => Self::Denied(Some(permission)),
            other => other,
        }
    }

    /// Converts the error of a request on `path` into the error that the caller gets.
    pub(crate) fn into_error(self, path: &str) -> LockError {
        let path = path.to_owned();
        match self {
            Self::Denied(permission) => LockError::Denied { path, permission },
            Self::NoNode => LockError::Refused { path, refusal: Refusal::NoNode },
            Self::Refused(refusal) => LockError::Refused { path, refusal },
            Self::Unknown(reason) => LockError::OutcomeUnknown { path, reason },
            Self::SessionOver => LockError::OutcomeUnknown { path, reason: "the session ended".into() },
        }
    }
}

impl From<zk::Error> for RequestError {
    fn from(error: zk::Error) -> Self {
        use zk::Error as E;
        match error {
            E::NoNode => Self::NoNode,
            E::NoAuth => Self::Denied(None),
            E::NodeExists => Self::Refused(Refusal::NodeExists),
            E::NotEmpty => Self::Refused(Refusal::NotEmpty),
            E::BadVersion => Self::Refused(Refusal::BadVersion),
            E::NoChildrenForEphemerals
            | E::InvalidAcl
            | E::NotReadOnly
            | E::NoWatcher
            | E::QuotaExceeded
            | E::MarshallingError
            | E::Unimplemented
            | E::ReconfigDisabled
            | E::BadArguments(_) => Self::Refused(Refusal::Other(error.to_string())),
            E::UnexpectedErrorCode(code) => Self::from_code(code),
            // Connection failures come in many forms: a reset is `Custom`, as is silence, a broken frame is an
            // unmarshalling error, and a task that is gone is a `BUG`. A moved session is one of them, because the
            // request may have been forwarded before the move. That the session is over is for its own task to
            // find out. A throttled request was not applied, but can be repeated like one whose outcome is unknown.
            other => Self::Unknown(other.to_string()),
        }
    }
}

const API_ERROR: i32 = -100;
const REQUEST_TIMEOUT: i32 = -122;

#[cfg(test)]
mod tests {
    use super::*;

    /// Every code of `KeeperException.Code` in ZooKeeper 3.9, as the client library tells it.
    #[test]
    fn every_code_of_the_servers_and_every_failure_is_definite_or_unknown() {
        use zk::Error as E;
        let by_code = E::UnexpectedErrorCode;
        let definite = [
            E::MarshallingError,
            E::Unimplemented,
            E::BadArguments(&"server error"),
            by_code(-100),
            E::NoNode,
            E::NoAuth,
            E::BadVersion,
            E::NoChildrenForEphemerals,
            E::NodeExists,
            E::NotEmpty,
            by_code(-113),
            E::InvalidAcl,
            E::NotReadOnly,
            by_code(-120),
            E::NoWatcher,
            E::ReconfigDisabled,
            E::QuotaExceeded,
            // A code of a later version.
            by_code(-999),
        ];
        let unknown = [
            by_code(-1),
            by_code(-2),
            by_code(-3),
            by_code(-4),
            by_code(-7),
            by_code(-12),
            by_code(-13),
            by_code(-14),
            E::SessionExpired,
            // The library reports a session that was closed for lack of SASL as `AuthFailed`.
            E::AuthFailed,
            E::SessionMoved,
            by_code(-122),
            E::Throttled,
            // Failures of the connection, and of the library.
            E::ConnectionLoss,
            E::Timeout,
            E::ClientClosed,
            E::UnexpectedError("recv response with xid 3 but no pending request".into()),
            E::UnexpectedError("BUG: Create2 expect response, but got none".into()),
        ];
        for (expected, errors) in [("definite", &definite[..]), ("unknown", &unknown)] {
            for error in errors {
                assert_eq!(kind(error.clone()), expected, "{error}");
            }
        }
        let told = RequestError::from(by_code(-120)).into_error("/a").to_string();
        assert_eq!(
            told,
            "request on /a refused: the server answered with the error -120 of `KeeperException.Code`"
        );
    }

    fn kind(error: zk::Error) -> &'static str {
        match RequestError::from(error) {
            RequestError::NoNode | RequestError::Denied(_) | RequestError::Refused(_) => "definite",
            RequestError::Unknown(_) => "unknown",
            RequestError::SessionOver => "over",
        }
    }
}

//! The one place that classifies failed requests: as definite, as unknown, or as the end of the session.

use zookeeper_client as zk;

use crate::error::{LockError, Refusal};

/// The reason why a request has no result.
#[derive(Clone, Debug)]
pub(crate) enum Fault {
    /// Definite: the node, or its parent, does not exist.
    NoNode,
    /// Definite: the ACL denies the request.
    Denied,
    /// Definite: the request was not applied, for this reason.
    Refused(Refusal),
    /// The connection broke, and the request may or may not have been applied.
    Unknown(String),
    /// The session is over. Its ephemeral nodes are gone or will be.
    SessionOver,
}

impl Fault {
    /// Returns `true` if a server certainly answered, which proves that the session was alive.
    ///
    /// Other refusals prove nothing, because some of them, such as the one for bad arguments, are
    /// the client library's own.
    pub(crate) fn is_answer(&self) -> bool {
        matches!(
            self,
            Self::NoNode
                | Self::Denied
                | Self::Refused(Refusal::NodeExists | Refusal::NotEmpty | Refusal::BadVersion)
        )
    }

    /// Converts the fault of a request on `path` into the error that the caller gets.
    pub(crate) fn into_error(self, path: &str) -> LockError {
        let path = path.to_owned();
        match self {
            Self::Denied => LockError::Denied { path },
            Self::NoNode => LockError::Refused { path, refusal: Refusal::NoNode },
            Self::Refused(refusal) => LockError::Refused { path, refusal },
            Self::Unknown(reason) => LockError::OutcomeUnknown { path, reason },
            Self::SessionOver => LockError::OutcomeUnknown { path, reason: "the session ended".into() },
        }
    }
}

impl From<zk::Error> for Fault {
    fn from(error: zk::Error) -> Self {
        use zk::Error as E;
        match error {
            E::NoNode => Self::NoNode,
            E::NoAuth => Self::Denied,
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
            E::SessionExpired | E::AuthFailed | E::ClientClosed => Self::SessionOver,
            // The library's messages when its session task has ended without setting a final state.
            E::UnexpectedError(ref reason)
                if reason.starts_with("expect error state") || reason.starts_with("BUG:") =>
            {
                Self::SessionOver
            }
            // Connection failures come in many forms: a reset is `Custom`, as is silence, and a
            // broken frame is an unmarshalling error. A moved session is one of them, because the
            // request may have been forwarded before the move. A throttled request was not applied,
            // but can be repeated like one whose outcome is unknown.
            other => Self::Unknown(other.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(error: zk::Error) -> &'static str {
        match Fault::from(error) {
            Fault::NoNode | Fault::Denied | Fault::Refused(_) => "definite",
            Fault::Unknown(_) => "unknown",
            Fault::SessionOver => "over",
        }
    }

    #[test]
    fn answers_are_definite_broken_connections_are_not_and_ended_sessions_are_terminal() {
        for error in [zk::Error::NoNode, zk::Error::NoAuth, zk::Error::NodeExists, zk::Error::QuotaExceeded] {
            assert_eq!(kind(error), "definite");
        }
        let broken = [
            zk::Error::ConnectionLoss,
            zk::Error::Timeout,
            zk::Error::SessionMoved,
            zk::Error::UnexpectedErrorCode(-999),
            zk::Error::UnexpectedError("recv response with xid 3 but no pending request".into()),
        ];
        for error in broken {
            assert_eq!(kind(error), "unknown");
        }
        let over = [
            zk::Error::SessionExpired,
            zk::Error::AuthFailed,
            zk::Error::ClientClosed,
            zk::Error::UnexpectedError("BUG: Create2 expect response, but got none".into()),
            zk::Error::UnexpectedError("expect error state, got SyncConnected".into()),
        ];
        for error in over {
            assert_eq!(kind(error), "over");
        }
    }
}

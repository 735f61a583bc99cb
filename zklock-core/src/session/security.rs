//! How a client proves who it is, and how it knows its servers.

#[cfg(feature = "tls")]
use std::time::Duration;

#[cfg(feature = "sasl-digest")]
use zookeeper_client as zk;

#[cfg(any(feature = "sasl-digest", feature = "tls"))]
use super::failure::OpenError;
#[cfg(feature = "sasl-digest")]
use super::login::Login;
#[cfg(feature = "sasl-digest")]
use super::standing::{self, Standing};
#[cfg(feature = "tls")]
use super::tls::{Transport, Verdict};

pub(crate) use zookeeper_client::Connector;

/// The credentials and the certificates of a client. They are secret, so this type does not implement `Debug`.
#[derive(Clone, Default)]
pub(crate) struct Security {
    /// The `user:password` of each digest.
    pub(crate) digests: Vec<String>,
    #[cfg(feature = "sasl-digest")]
    pub(crate) login: Option<Login>,
    #[cfg(feature = "tls")]
    pub(crate) transport: Option<Transport>,
}

impl Security {
    /// Gives a connector the credentials and the certificates.
    pub(crate) async fn equip(&self, mut connector: Connector) -> Connector {
        for digest in &self.digests {
            connector = connector.with_auth("digest", digest.as_bytes());
        }
        #[cfg(feature = "sasl-digest")]
        if let Some(login) = &self.login {
            connector = connector.with_sasl(login.options());
        }
        #[cfg(feature = "tls")]
        if let Some(transport) = &self.transport {
            transport.renew().await;
            connector = connector.with_tls(transport.options());
        }
        connector
    }

    /// Returns an error if the servers do not know the user of the login, and their answer otherwise.
    #[cfg(feature = "sasl-digest")]
    pub(super) async fn check_login(&self, client: &zk::Client) -> Result<Option<Standing>, OpenError> {
        if self.login.is_none() {
            return Ok(None);
        }
        match standing::ask(client).await? {
            Standing::Unknown => Err(OpenError::AuthFailed),
            answer => Ok(Some(answer)),
        }
    }

    /// Finds the reason of a failure that the client library does not tell.
    #[cfg(feature = "tls")]
    pub(super) async fn reason(&self, failed: OpenError, servers: &str, within: Duration) -> OpenError {
        let verdict = match (&failed, &self.transport) {
            (OpenError::Unreachable(_), Some(transport)) => transport.verdict(servers, within).await,
            _ => None,
        };
        match verdict {
            Some(Verdict::Distrust(reasons)) => OpenError::Untrusted(reasons),
            Some(Verdict::Unclear(reasons)) => OpenError::Unreachable(reasons),
            None => failed,
        }
    }
}

//! How a client proves who it is, and how it knows its servers.

use super::addresses::Target;
use super::connection::{Connection, OpenError};
use super::diagnose::Certificates;
#[cfg(any(feature = "sasl-digest", feature = "sasl-gssapi"))]
use super::login::Login;
#[cfg(feature = "tls")]
use super::tls::Transport;

pub(crate) use zookeeper_client::Connector;

/// The credentials and the certificates of a client. They are secret, so this type does not implement `Debug`.
#[derive(Clone, Default)]
pub(crate) struct Security {
    /// The `user:password` of each digest.
    pub(crate) digests: Vec<String>,
    #[cfg(any(feature = "sasl-digest", feature = "sasl-gssapi"))]
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
        #[cfg(any(feature = "sasl-digest", feature = "sasl-gssapi"))]
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

    /// Connects to one address, and gives the connection this number.
    pub(super) async fn connect(
        &self,
        connector: Connector,
        target: &Target,
        number: u64,
    ) -> Result<Connection, OpenError> {
        #[cfg(feature = "sasl-gssapi")]
        if let Some(Login::Gssapi(kerberos)) = &self.login {
            return kerberos.connect(connector, target, number).await;
        }
        Ok(Connection::open(connector, &target.address, number).await?)
    }

    /// Returns an error if a server has opened a session without knowing the user of the login: one without users accepts
    /// any. A server before 3.7 does not know the question, and closes the connection.
    #[cfg(any(feature = "sasl-digest", feature = "sasl-gssapi"))]
    pub(super) async fn check_login(&self, connection: &mut Connection) -> Result<(), OpenError> {
        if self.login.is_none() {
            return Ok(());
        }
        let live = connection.live().clone();
        match connection.answer(live.list_auth_users()).await {
            Some(Ok(users)) if users.iter().all(|user| user.scheme() != "sasl") => Err(OpenError::AuthFailed),
            _ => Ok(()),
        }
    }

    /// Returns the certificates of encrypted connections, if the client has them.
    pub(super) fn certificates(&self) -> Option<Certificates> {
        #[cfg(feature = "tls")]
        return self.transport.as_ref().map(Transport::certificates);
        #[cfg(not(feature = "tls"))]
        None
    }
}

//! The credentials of a client, how it knows its servers, and the permissions on the nodes that it creates.

use std::sync::Arc;
use std::time::{Duration, Instant};

use zookeeper_client as zk;

use super::addresses::Target;
use super::diagnose::Certificates;
#[cfg(feature = "sasl-gssapi")]
use super::gssapi::Kerberos;
#[cfg(feature = "tls")]
use super::tls::Transport;
use super::{Connection, OpenError};

pub(crate) use zookeeper_client::{Acl as Entry, AuthId, Connector, Permission};

/// The credentials and the certificates of a client. They are secret, so this type does not implement `Debug`.
#[derive(Clone, Default)]
pub(crate) struct Security {
    /// The `user:password` of each digest.
    pub(crate) digests: Vec<String>,
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
    pub(crate) async fn connect(
        &self,
        connector: Connector,
        target: &Target,
        number: u64,
    ) -> Result<Connection, OpenError> {
        #[cfg(feature = "sasl-gssapi")]
        if let Some(Login::Gssapi(kerberos)) = &self.login {
            return kerberos.connect(connector, target, number).await;
        }
        let (begun, mut repeats) =
            (Instant::now(), if self.login.is_some() || !self.digests.is_empty() { REPEATS } else { 0 });
        loop {
            match Connection::open(connector.clone(), &target.address, number).await {
                Err(zk::Error::NoHosts) if repeats > 0 && begun.elapsed() < REPEATED_WITHIN => repeats -= 1,
                opened => return Ok(opened?),
            }
        }
    }

    /// Returns `false` if a server has opened a session without knowing the user of the login: one without users accepts
    /// any. A server before 3.7 does not know the question, and closes the connection.
    pub(crate) async fn is_logged_in(&self, connection: &mut Connection) -> bool {
        if self.login.is_none() {
            return true;
        }
        let live = connection.live().clone();
        match connection.answer(live.list_auth_users()).await {
            Some(Ok(users)) => users.iter().any(|user| user.scheme() == "sasl"),
            _ => true,
        }
    }

    /// Returns the certificates of encrypted connections, if the client has them.
    pub(crate) fn certificates(&self) -> Option<Certificates> {
        #[cfg(feature = "tls")]
        return self.transport.as_ref().map(Transport::certificates);
        #[cfg(not(feature = "tls"))]
        None
    }
}

/// The proof of a name by SASL. It may be secret, so this type does not implement `Debug`.
#[derive(Clone)]
pub(crate) enum Login {
    #[cfg(feature = "sasl-digest")]
    Digest(Digest),
    #[cfg(feature = "sasl-gssapi")]
    Gssapi(Kerberos),
}

#[cfg(any(feature = "sasl-digest", feature = "sasl-gssapi"))]
impl Login {
    fn options(&self) -> zk::SaslOptions {
        match self {
            #[cfg(feature = "sasl-digest")]
            Self::Digest(digest) => digest.options(),
            #[cfg(feature = "sasl-gssapi")]
            Self::Gssapi(kerberos) => kerberos.options(None),
        }
    }
}

/// A user and a password, for the mechanism DIGEST-MD5. The password is secret, so this type does not implement `Debug`.
#[cfg(feature = "sasl-digest")]
#[derive(Clone)]
pub(crate) struct Digest {
    user: String,
    password: String,
}

#[cfg(feature = "sasl-digest")]
impl Digest {
    /// Checks what the mechanism can carry. The error shows nothing of the password.
    pub(crate) fn new(login: &str) -> Result<Self, &'static str> {
        let (user, password) = login.split_once(':').ok_or("it is not `user:password`")?;
        if user.is_empty() {
            return Err("the user is empty");
        }
        // The client library does not escape the name, and servers disagree about other characters.
        if !user.chars().all(|c| c.is_ascii_graphic() && !matches!(c, '"' | '\\')) {
            return Err("the user has characters other than printable ASCII, or a quote or a backslash");
        }
        if password.is_empty() || !password.chars().all(|c| matches!(c, ' '..='~')) {
            return Err("the password is empty, or has characters other than printable ASCII");
        }
        Ok(Self { user: user.to_owned(), password: password.to_owned() })
    }

    fn options(&self) -> zk::SaslOptions {
        zk::SaslOptions::digest_md5(self.user.clone(), self.password.clone()).into()
    }
}

/// An access control list that has been checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NodeAcl(Arc<[Entry]>);

impl NodeAcl {
    pub(crate) fn new(acls: Vec<Entry>) -> Self {
        Self(acls.into())
    }

    pub(crate) fn acls(&self) -> zk::Acls<'_> {
        zk::Acls::new(&self.0)
    }
}

impl Default for NodeAcl {
    fn default() -> Self {
        Self(Arc::new([Entry::new(Permission::ALL, AuthId::anyone())]))
    }
}

/// The checked lists of a client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NodeAcls {
    /// The list of the nodes above a lock.
    pub(crate) parents: NodeAcl,
    /// The list of the nodes of locks, those of contenders, and those with data.
    pub(crate) own: NodeAcl,
}

/// How often a connection with credentials is tried again at once. The library sends them together with the request for a
/// session, and a server that has encrypted ports answers them before that request, one time in three; the library then
/// takes the answers for broken ones. There are few repeats, because a server that is down refuses each of them.
const REPEATS: usize = 6;
/// A failure that takes longer has another reason.
const REPEATED_WITHIN: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use tokio::net::TcpListener;

    use super::*;

    /// Returns how often a server is connected to that closes each connection.
    async fn attempts(security: Security) -> usize {
        let server = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = server.local_addr().unwrap().to_string();
        let target = Target { host: "127.0.0.1".to_owned(), address };
        let connector = security.equip(zk::Client::connector().with_fail_eagerly()).await;
        let mut connecting = Box::pin(security.connect(connector, &target, 1));
        let mut count = 0;
        loop {
            tokio::select! {
                refused = &mut connecting => {
                    assert!(matches!(refused, Err(OpenError::Unreachable(_))));
                    return count + usize::from(server.accept().now_or_never().is_some());
                }
                accepted = server.accept() => count += usize::from(accepted.is_ok()),
            }
        }
    }

    #[tokio::test]
    async fn a_connection_with_credentials_that_is_closed_at_once_is_tried_again_at_once() {
        assert_eq!(attempts(Security::default()).await, 1);
        let digests = vec!["user:password".to_owned()];
        assert_eq!(attempts(Security { digests, ..Security::default() }).await, 1 + REPEATS);
    }

    #[cfg(feature = "sasl-digest")]
    #[test]
    fn a_login_that_the_mechanism_cannot_carry_is_refused() {
        assert!(Digest::new(r#"billing@EXAMPLE:a "secret" \ word: 1"#).is_ok());
        for login in ["secret", ":secret", "a b:secret", "a\":secret", "ü:secret", "a:", "a:sécret"] {
            let error = Digest::new(login).err().expect("it is refused");
            assert!(!error.contains("secret"), "{error}");
        }
    }
}

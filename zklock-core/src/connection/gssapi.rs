//! The login by Kerberos, whose tickets the client library gets.

use std::pin::Pin;
use std::str::FromStr;
use std::sync::Arc;

use futures_lite::future::block_on;
use tokio::sync::Mutex;
use zookeeper_client as zk;

use crate::tasks::apart;

use super::addresses::Target;
use super::{Connection, OpenError};

/// A login by SASL with the mechanism GSSAPI, which is Kerberos: the name of the servers.
///
/// A server has a principal in Kerberos, such as `zookeeper/zk1.example.org@EXAMPLE.ORG`. Its first part is the
/// *service*, and its second one the *instance*: the host that the connect string has, unless one is
/// [set](Self::instance) for all servers. The realm comes from the configuration of the Kerberos library.
///
/// The client is the principal whose ticket is in the ticket cache of the process. `kinit` writes it, or the library
/// gets it with the keytab that the environment variable `KRB5_CLIENT_KTNAME` names. `KRB5CCNAME` names another cache,
/// and `KRB5_CONFIG` another configuration.
///
/// Each connection logs in again, and each login asks a key distribution center (KDC). A broken connection comes back
/// when a KDC has answered, or when the Kerberos library gives up. Locks whose lease expires before that are lost in
/// time, because such a client connects on a thread of its own.
///
/// The client library hands a *forwardable* ticket to the servers, which can then act in the name of the client.
/// `kinit -F`, or `forwardable = false` in the configuration of Kerberos, gets a ticket that is not forwardable.
///
/// # Examples
///
/// ```no_run
/// use zklock_core::{Acl, Config, Gssapi};
///
/// # async fn example() -> Result<(), zklock_core::LockError> {
/// let config = Config::new("zk1.example.org,zk2.example.org,zk3.example.org");
/// let client = config.sasl_gssapi(Gssapi::default()).acl(Acl::CreatorAll).connect().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize), serde(try_from = "String"))]
pub struct Gssapi {
    service: String,
    instance: Option<String>,
}

impl Gssapi {
    /// Names the service, which is `zookeeper` by default.
    pub fn service(service: impl Into<String>) -> Self {
        Self { service: service.into(), instance: None }
    }

    /// Names the instance, which all servers have in common; by default, it is the host of each one.
    #[must_use]
    pub fn instance(self, instance: impl Into<String>) -> Self {
        Self { instance: Some(instance.into()), ..self }
    }

    /// Checks what a principal can have.
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        let fits = |part: &str| {
            !part.is_empty() && part.chars().all(|c| c.is_ascii_graphic() && !matches!(c, '@' | '/' | '\\'))
        };
        if !fits(&self.service) {
            return Err("the service is empty, or has a character that no service has");
        }
        if !self.instance.as_deref().is_none_or(fits) {
            return Err("the instance is empty, or has a character that no host has");
        }
        Ok(())
    }
}

/// The service `zookeeper` on each host.
impl Default for Gssapi {
    fn default() -> Self {
        Self::service("zookeeper")
    }
}

impl FromStr for Gssapi {
    type Err = &'static str;

    /// Reads `SERVICE` or `SERVICE@INSTANCE`.
    ///
    /// # Errors
    ///
    /// The reason, if a part is empty or has a character that no principal has.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let gssapi = match text.split_once('@') {
            Some((service, instance)) => Self::service(service).instance(instance),
            None => Self::service(text),
        };
        gssapi.check().map(|()| gssapi)
    }
}

impl TryFrom<String> for Gssapi {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

/// The logins of a client, one at a time.
#[derive(Clone)]
pub(crate) struct Kerberos {
    gssapi: Gssapi,
    under_way: Arc<Mutex<Option<Connecting>>>,
}

type Connecting = Pin<Box<dyn Future<Output = Option<Result<Connection, zk::Error>>> + Send>>;

impl Kerberos {
    pub(crate) fn new(gssapi: Gssapi) -> Self {
        Self { gssapi, under_way: Arc::default() }
    }

    /// Returns the options for a server of this host. Without one, it is that of the address to connect to.
    pub(crate) fn options(&self, host: Option<&str>) -> zk::SaslOptions {
        let options = zk::SaslOptions::gssapi().with_username(self.gssapi.service.clone());
        match self.gssapi.instance.as_deref().or(host) {
            Some(instance) => options.with_hostname(instance.to_owned()).into(),
            None => options.into(),
        }
    }

    /// Connects to one address, on another thread: the login blocks it for as long as the Kerberos library waits for the
    /// network. A login that an earlier call has given up is waited for, because it may be the one that succeeds.
    pub(crate) async fn connect(
        &self,
        connector: zk::Connector,
        target: &Target,
        number: u64,
    ) -> Result<Connection, OpenError> {
        let address = target.address.clone();
        // The principal of the server has its name.
        let connector = connector.with_sasl(self.options(Some(&target.host)));
        let mut under_way = self.under_way.lock().await;
        let login = under_way.get_or_insert_with(|| {
            Box::pin(apart(move || block_on(Connection::open(connector, &address, number))))
        });
        let connected = login.await;
        *under_way = None;
        match connected {
            Some(Ok(connection)) if connection.live().number == number => Ok(connection),
            Some(Ok(_)) => Err(OpenError::Unreachable("an earlier login was under way".to_owned())),
            Some(Err(zk::Error::NoHosts)) => Err(OpenError::Unreachable(FAILED.to_owned())),
            Some(Err(error)) => Err(error.into()),
            None => Err(OpenError::Unreachable("the login had no thread, or panicked".to_owned())),
        }
    }
}

const FAILED: &str =
    "no server accepted the connection and the login by Kerberos; the client library logs the reason";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_and_an_instance_are_read_from_a_text() {
        assert_eq!("zookeeper".parse(), Ok(Gssapi::default()));
        assert_eq!("zk@host.example".parse(), Ok(Gssapi::service("zk").instance("host.example")));
        assert_eq!("zk@::1".parse(), Ok(Gssapi::service("zk").instance("::1")));
        for text in ["", "@", "zk@", "@host", "zk/host", "zk@host@REALM", "z k", "zk@ü"] {
            assert!(text.parse::<Gssapi>().is_err(), "{text}");
        }
    }
}

//! The name of the servers in Kerberos.

use std::str::FromStr;

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
/// time, because the connections of such a client have a thread of their own.
///
/// The client library hands a *forwardable* ticket to the servers, which can then act in the name of the client. The
/// client logs a warning about it. `kinit -F`, or `forwardable = false` in the configuration of Kerberos, gets a ticket
/// that is not forwardable.
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

    pub(super) fn service_name(&self) -> &str {
        &self.service
    }

    pub(super) fn instance_name(&self) -> Option<&str> {
        self.instance.as_deref()
    }
}

/// The service `zookeeper` on each host.
impl Default for Gssapi {
    fn default() -> Self {
        Self::service("zookeeper")
    }
}

/// Reads `SERVICE` or `SERVICE@INSTANCE`.
impl FromStr for Gssapi {
    type Err = &'static str;

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

//! The tickets of a client for the servers.

use std::collections::HashSet;
use std::env;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_lite::future::block_on;
use libgssapi::context::{ClientCtx, CtxFlags, SecurityContext};
use libgssapi::credential::{Cred, CredUsage};
use libgssapi::error::{Error, MajorFlags};
use libgssapi::name::Name;
use libgssapi::oid::{GSS_MECH_KRB5, GSS_NT_HOSTBASED_SERVICE, OidSet};
use tokio::time::timeout;
use zookeeper_client as zk;

use super::gssapi::Gssapi;
use crate::session::address::Address;
use crate::session::addresses::Target;
use crate::session::apart::Single;
use crate::session::connection::Connection;
use crate::session::failure::OpenError;

/// The tickets for the servers, which are in the ticket cache of the process.
///
/// The client library gets them, too, when it connects. It does not tell why it gets none, so they are gotten before.
#[derive(Clone)]
pub(crate) struct Tickets(Arc<Inner>);

struct Inner {
    gssapi: Gssapi,
    /// The look that is under way. While the Kerberos library blocks it, later calls wait for this look, and start no
    /// other thread.
    look: Single<Look>,
    /// The login that is under way.
    connecting: Single<Result<Connection, zk::Error>>,
    /// The problems of the last look.
    told: Mutex<Option<String>>,
}

/// The tickets that one look at all servers has got.
#[derive(Debug, Default)]
struct Look {
    is_usable: bool,
    /// Whether the client library hands the ticket of the client to the servers.
    is_forwarded: bool,
    failures: Vec<Failure>,
}

/// The reason why there is no ticket for a server.
#[derive(Debug, PartialEq, Eq)]
enum Failure {
    /// It needs a person, or another program, to get one.
    Final(String),
    /// Another attempt may get one.
    Passing(String),
}

impl Tickets {
    pub(crate) fn new(gssapi: Gssapi) -> Self {
        Self(Arc::new(Inner {
            gssapi,
            look: Single::default(),
            connecting: Single::default(),
            told: Mutex::default(),
        }))
    }

    pub(super) fn options(&self) -> zk::SaslOptions {
        let options = zk::SaslOptions::gssapi().with_username(self.0.gssapi.service_name().to_owned());
        match self.0.gssapi.instance_name() {
            Some(instance) => options.with_hostname(instance.to_owned()).into(),
            None => options.into(),
        }
    }

    /// Connects to one address, on a thread of its own: the login blocks it for as long as the Kerberos library waits for
    /// the network. There is one such thread at a time. A login that an earlier call has given up is
    /// waited for.
    pub(in crate::session) async fn connect(
        &self,
        connector: zk::Connector,
        target: &Target,
        number: u64,
    ) -> Result<Connection, OpenError> {
        let address = target.address.clone();
        let connector = match self.0.gssapi.instance_name() {
            Some(_) => connector,
            // The principal of the server has its name.
            None => connector.with_sasl(self.options_for(&target.host)),
        };
        let work = move || block_on(Connection::open(connector, &address, number));
        let connected = self.0.connecting.outcome("zklock-login", work).await;
        let failed = |error| OpenError::Unreachable(format!("no thread could log in: {error}"));
        let connection = connected.map_err(failed)??;
        match connection.live().number == number {
            true => Ok(connection),
            false => Err(OpenError::Unreachable("an earlier login was under way".to_owned())),
        }
    }

    fn options_for(&self, host: &str) -> zk::SaslOptions {
        let options = zk::SaslOptions::gssapi().with_username(self.0.gssapi.service_name().to_owned());
        options.with_hostname(host.to_owned()).into()
    }

    /// Gets the tickets for these servers that are not in the cache. Returns an error if there is none for any server.
    pub(in crate::session) async fn prepare(&self, servers: &str, within: Duration) -> Result<(), OpenError> {
        let Ok(looked) = timeout(within, self.look(servers)).await else {
            return Err(OpenError::Unreachable(LATE.to_owned()));
        };
        let look = looked.map_err(|error| {
            OpenError::Unreachable(format!("no thread could be started for Kerberos: {error}"))
        })?;
        if look.is_usable {
            self.tell(&look);
            return Ok(());
        }
        let reasons = reasons(&look.failures).join("; ");
        Err(match look.failures.iter().all(|failure| matches!(failure, Failure::Final(_))) {
            true => OpenError::NoTicket(reasons),
            false => OpenError::Unreachable(reasons),
        })
    }

    /// Looks at the tickets on a thread of its own, or waits for the look that is under way there.
    async fn look(&self, servers: &str) -> std::io::Result<Look> {
        let (tickets, servers) = (self.clone(), servers.to_owned());
        let work = move || tickets.0.gssapi.look(&servers);
        self.0.look.outcome("zklock-kerberos", work).await
    }

    /// Logs the problems of a look, if they are news.
    fn tell(&self, look: &Look) {
        let mut problems = reasons(&look.failures);
        if look.is_forwarded {
            problems.insert(0, FORWARDED.to_owned());
        }
        let problems = (!problems.is_empty()).then(|| problems.join("; "));
        let mut told = self.0.told.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(problems) = problems.as_deref().filter(|_| problems != *told) {
            tracing::warn!(problems, "the Kerberos tickets of this client have problems");
        }
        *told = problems;
    }
}

impl Gssapi {
    /// Gets a ticket for each of these servers. Blocks the thread for as long as the Kerberos library takes.
    fn look(&self, servers: &str) -> Look {
        let mut instances: Vec<_> = match self.instance_name() {
            Some(instance) => vec![instance],
            None => servers.split(',').map(host).collect(),
        };
        instances.sort_unstable();
        instances.dedup();
        let mut look = Look::default();
        for instance in instances {
            match ticket(self.service_name(), instance) {
                Ok(is_forwarded) => {
                    look.is_usable = true;
                    look.is_forwarded |= is_forwarded;
                }
                Err(error) => look.failures.push(Failure::of(error, self.service_name(), instance)),
            }
        }
        look
    }
}

/// Gets a ticket for a server, and returns whether the ticket of the client is forwardable.
fn ticket(service: &str, instance: &str) -> Result<bool, Error> {
    let server = Name::new(format!("{service}@{instance}").as_bytes(), Some(&GSS_NT_HOSTBASED_SERVICE))?;
    let mut mechanisms = OidSet::new()?;
    mechanisms.add(&GSS_MECH_KRB5)?;
    let own = Cred::acquire(None, None, CredUsage::Initiate, Some(&mechanisms))?;
    // Without a proof of the server, the context is complete, and its flags are known, after one step.
    let mut context = ClientCtx::new(Some(own), server, CtxFlags::GSS_C_DELEG_FLAG, Some(&GSS_MECH_KRB5));
    context.step(None, None)?;
    Ok(context.flags()?.contains(CtxFlags::GSS_C_DELEG_FLAG))
}

impl Failure {
    fn of(error: Error, service: &str, instance: &str) -> Self {
        let text = text(error);
        let minor = error.minor.cast_signed();
        // First, because the library has no credentials, or expired ones, if nobody answers to a keytab.
        if matches!(minor, code::UNREACHABLE | code::UNKNOWN_REALM) {
            return Self::Passing(format!("{text}: {CONFIGURE}"));
        }
        if error.major.contains(MajorFlags::GSS_S_CREDENTIALS_EXPIRED) || minor == code::TICKET_EXPIRED {
            let reason = format!("{text}: {RENEW}");
            return match env::var_os("KRB5_CLIENT_KTNAME") {
                Some(_) => Self::Passing(reason),
                None => Self::Final(reason),
            };
        }
        if error.major.contains(MajorFlags::GSS_S_NO_CRED) {
            return Self::Final(format!("{text}: {GET}"));
        }
        match minor {
            code::UNKNOWN_SERVER => Self::Final(format!(
                "{text}: the login by GSSAPI names the service `{service}` and the instance `{instance}`, which the \
                 servers must have in Kerberos"
            )),
            code::NO_REALM | code::NO_CONFIG | code::BAD_CONFIG => {
                Self::Final(format!("{text}: {CONFIGURE}"))
            }
            _ => Self::Passing(text),
        }
    }

    fn reason(&self) -> &str {
        let (Self::Final(reason) | Self::Passing(reason)) = self;
        reason
    }
}

/// Returns the message of the Kerberos library, without that of the interface to it.
fn text(error: Error) -> String {
    let text = error.to_string();
    let inner = text.split_once(" (").and_then(|(_, inner)| inner.strip_suffix(')'));
    inner.unwrap_or(&text).to_owned()
}

/// Returns the reasons, each of them once.
fn reasons(failures: &[Failure]) -> Vec<String> {
    let mut told = HashSet::new();
    let reasons = failures.iter().map(Failure::reason).filter(|reason| told.insert(*reason));
    reasons.map(str::to_owned).collect()
}

/// Returns the host of a server in the connect string, as the client library does.
fn host(server: &str) -> &str {
    Address::parse(server).map_or(server, |address| address.host)
}

/// The codes of errors in Kerberos, which MIT and Heimdal have in common.
mod code {
    pub(super) const UNKNOWN_SERVER: i32 = BASE + 7;
    pub(super) const TICKET_EXPIRED: i32 = BASE + 32;
    pub(super) const NO_CONFIG: i32 = BASE + 135;
    pub(super) const BAD_CONFIG: i32 = BASE + 136;
    pub(super) const UNKNOWN_REALM: i32 = BASE + 154;
    pub(super) const UNREACHABLE: i32 = BASE + 156;
    pub(super) const NO_REALM: i32 = BASE + 224;

    const BASE: i32 = -1_765_328_384;
}

const GET: &str =
    "get a ticket with `kinit`, name its cache with KRB5CCNAME, or name a keytab with KRB5_CLIENT_KTNAME";
const RENEW: &str = "renew the ticket with `kinit`, or name a keytab with KRB5_CLIENT_KTNAME";
const CONFIGURE: &str = "check the configuration of Kerberos, which KRB5_CONFIG names";
const LATE: &str = "the Kerberos library has not answered in time; check the key distribution centers";
const FORWARDED: &str =
    "the ticket is forwardable, so each login hands it to the servers: get one with `kinit -F`";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_instance_of_a_server_is_its_host() {
        for (server, expected) in [
            ("zk1", "zk1"),
            ("zk1.example.org:2181", "zk1.example.org"),
            ("tcp+tls://zk1:2281", "zk1"),
            ("tcp://[::1]:2181", "::1"),
            ("[::1]", "::1"),
        ] {
            assert_eq!(host(server), expected, "{server}");
        }
    }

    #[test]
    fn a_reason_of_several_servers_is_told_once() {
        let failures = ["a", "b", "a"].map(|reason| Failure::Final(reason.to_owned()));
        assert_eq!(reasons(&failures), ["a", "b"]);
    }
}

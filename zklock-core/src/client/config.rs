//! The configuration of a client.

pub(crate) mod acl;
mod env;
mod security;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;

use crate::connection::addresses::Addresses;
use crate::connection::diagnose::Diagnosis;
#[cfg(feature = "sasl-gssapi")]
use crate::connection::gssapi::Gssapi;
#[cfg(feature = "tls")]
use crate::connection::tls::Tls;
use crate::error::LockError;
use crate::path;
use crate::session::own_node::REVOKE;
use crate::session::{Heartbeat, Opening, Silence};

use self::acl::Acl;
use super::Client;
use super::connect_string::ConnectString;
use super::settings::{Queueing, Release, Settings};
use super::worker::Worker;

/// The configuration of a client: its ensemble, its session, and the defaults of its locks.
///
/// # Examples
///
/// ```no_run
/// use std::time::Duration;
/// use zklock_core::Config;
///
/// # async fn example() -> Result<(), zklock_core::LockError> {
/// let client = Config::new("zk1:2181,zk2:2181,zk3:2181/prod")
///     .namespace("/billing")
///     .session_timeout(Duration::from_secs(30))
///     .default_wait(Duration::from_secs(10))
///     .connect()
///     .await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields, default = "Config::of_defaults")
)]
pub struct Config {
    connect: String,
    namespace: String,
    #[cfg_attr(feature = "serde", serde(with = "humantime_serde"))]
    session_timeout: Duration,
    #[cfg_attr(feature = "serde", serde(with = "humantime_serde"))]
    default_wait: Duration,
    #[cfg_attr(feature = "serde", serde(with = "humantime_serde"))]
    connect_timeout: Duration,
    #[cfg_attr(feature = "serde", serde(with = "humantime_serde"))]
    warn_after: Duration,
    #[cfg_attr(feature = "serde", serde(deserialize_with = "security::deserialize"))]
    digests: Vec<String>,
    digest_files: Vec<PathBuf>,
    #[cfg(feature = "sasl-digest")]
    #[cfg_attr(feature = "serde", serde(deserialize_with = "security::deserialize"))]
    sasl_digest: Vec<String>,
    #[cfg(feature = "sasl-digest")]
    sasl_digest_file: Option<PathBuf>,
    #[cfg(feature = "sasl-gssapi")]
    sasl_gssapi: Option<Gssapi>,
    #[cfg(feature = "tls")]
    tls: Option<Tls>,
    acl: Acl,
    parent_acl: Option<Acl>,
    identity: String,
    #[cfg_attr(feature = "serde", serde(with = "humantime_serde"))]
    tick_time: Duration,
    #[cfg_attr(feature = "serde", serde(with = "humantime_serde"))]
    sync_limit: Duration,
    #[cfg_attr(feature = "serde", serde(with = "humantime_serde"))]
    server_timeout: Option<Duration>,
    heartbeat: Heartbeat,
    queueing: Queueing,
    release: Release,
}

impl Config {
    /// Creates a configuration with default settings for the servers of a connect string.
    ///
    /// `connect` is ZooKeeper's connect string: `host:port,host:port/chroot`. The port defaults to 2181, and an
    /// IPv6 address is in brackets. The chroot follows the last server, has no comma, and is created when it is
    /// first needed. A server may have the scheme `tcp://`. If certificates are set (feature `tls`), each server
    /// needs a port, and may have the scheme `tcp+tls://` instead.
    pub fn new(connect: impl Into<String>) -> Self {
        Self {
            connect: connect.into(),
            namespace: String::new(),
            session_timeout: Duration::from_secs(30),
            default_wait: Duration::from_secs(10),
            connect_timeout: Duration::from_secs(10),
            warn_after: Duration::from_secs(30),
            digests: Vec::new(),
            digest_files: Vec::new(),
            #[cfg(feature = "sasl-digest")]
            sasl_digest: Vec::new(),
            #[cfg(feature = "sasl-digest")]
            sasl_digest_file: None,
            #[cfg(feature = "sasl-gssapi")]
            sasl_gssapi: None,
            #[cfg(feature = "tls")]
            tls: None,
            acl: Acl::default(),
            parent_acl: None,
            identity: own_identity(),
            tick_time: Duration::from_secs(2),
            sync_limit: Duration::from_secs(10),
            server_timeout: None,
            heartbeat: Heartbeat::default(),
            queueing: Queueing::default(),
            release: Release::default(),
        }
    }

    /// Sets the namespace: an absolute path in front of all paths of this client, none by default.
    ///
    /// It is created when it is first needed. `/` is none. An invalid path, or one that ends with a blank, is refused
    /// when the client starts.
    #[must_use]
    pub fn namespace(self, namespace: impl Into<String>) -> Self {
        Self { namespace: namespace.into(), ..self }
    }

    /// Sets the name under which other participants see this client's contenders, by default the host, the
    /// process id and a random number.
    ///
    /// It is stored as the data of their nodes, where Curator's `getParticipants` reads it. More than 1024
    /// bytes are invalid, and so is `__REVOKE__`, which in that place asks a holder to release.
    #[must_use]
    pub fn identity(self, identity: impl Into<String>) -> Self {
        Self { identity: identity.into(), ..self }
    }

    /// Connects, and returns once the first session is open.
    ///
    /// # Errors
    ///
    /// * [`LockError::InvalidConfig`] if a setting is invalid, or if the granted session timeout leaves no
    ///   lease.
    /// * [`LockError::Connect`] if no server opens a session within the connect timeout.
    /// * [`LockError::AuthFailed`] if the servers refuse the credentials.
    /// * [`LockError::Tls`] if the servers and this client do not trust each other's certificates.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future ends the client, and leaves nothing behind.
    pub async fn connect(self) -> Result<Client, LockError> {
        let within = self.connect_timeout;
        let client = self.start()?;
        client.worker().connected(within).await?;
        Ok(client)
    }

    /// Starts a client that connects in the background, for services that may start before their servers.
    ///
    /// Locks and candidates wait for the first session as for any later one; [`Client::readiness`] shows
    /// whether it is open.
    ///
    /// # Errors
    ///
    /// [`LockError::InvalidConfig`] if a setting is invalid, or the thread of the session cannot be started. A
    /// refusal by the servers is returned by each call that needs them, until a session is open.
    pub fn start(self) -> Result<Client, LockError> {
        let worker = Worker::start(self.validated()?)
            .map_err(|error| invalid("connect", format!("cannot start the session thread: {error}")))?;
        Ok(Client::new(worker))
    }

    pub(crate) fn validated(self) -> Result<Settings, LockError> {
        let connect = ConnectString::parse(&self.connect, self.scheme())
            .map_err(|reason| invalid("connect", reason))?;
        let namespace =
            path::validate_root(&self.namespace).map_err(|reason| invalid("namespace", reason))?;
        if namespace.ends_with(char::is_whitespace) {
            // A client without the blank would be in another namespace.
            return Err(invalid("namespace", format!("{namespace:?} ends with a blank")));
        }
        self.check_durations()?;
        check_identity(&self.identity)?;
        let (security, acls) = self.security()?;
        if self.queueing.turns == 0 {
            return Err(invalid("queueing", "a client needs at least one turn"));
        }
        let silence =
            self.server_timeout.map_or_else(|| Silence::ForConnecting(self.connect_timeout), Silence::Fixed);
        Ok(Settings {
            root: format!("{}{namespace}", connect.chroot),
            default_wait: self.default_wait,
            identity: self.identity.into(),
            queueing: self.queueing,
            release: self.release,
            warn_after: self.warn_after,
            warnings: Arc::default(),
            opening: Opening {
                addresses: Addresses::new(&connect.servers),
                servers: connect.servers,
                timeout: self.session_timeout,
                silence,
                // Told before a caller's time to connect is over, after a wait as long as a look and the look itself.
                diagnose_within: silence
                    .of(self.session_timeout)
                    .min(self.connect_timeout / 5)
                    .max(SHORTEST_LOOK),
                diagnosis: Diagnosis::default(),
                heartbeat: self.heartbeat,
                tick: self.tick_time,
                sync_limit: self.sync_limit,
                security,
                acls,
                tally: Arc::default(),
            },
        })
    }

    fn check_durations(&self) -> Result<(), LockError> {
        let silent =
            self.server_timeout.map(|silent| ("server_timeout", silent, self.session_timeout / 5 * 2));
        let durations = [
            ("session_timeout", self.session_timeout, LONGEST_SESSION),
            ("default_wait", self.default_wait, Duration::MAX),
            ("connect_timeout", self.connect_timeout, Duration::MAX),
            ("warn_after", self.warn_after, Duration::MAX),
            ("tick_time", self.tick_time, LONGEST_SESSION),
            ("sync_limit", self.sync_limit, LONGEST_SESSION),
        ];
        for (setting, value, longest) in durations.into_iter().chain(silent) {
            if value.is_zero() {
                return Err(invalid(setting, "it is zero"));
            }
            if value > longest {
                return Err(invalid(setting, format!("{value:?} is longer than {longest:?}")));
            }
        }
        Ok(())
    }

    /// Returns what a configuration has that is read from a file, and sets nothing. `connect` is then missing.
    #[cfg(feature = "serde")]
    fn of_defaults() -> Self {
        Self::new("")
    }
}

impl Config {
    /// Sets the session timeout to request, 30 s by default. A warning is logged if the servers grant another one.
    ///
    /// When a holder dies, its lock is free after this time. ZooKeeper grants between 2 and 20 ticks, which
    /// is 4 s to 40 s with its defaults. Zero and more than 24 hours are invalid.
    #[must_use]
    pub fn session_timeout(self, timeout: Duration) -> Self {
        Self { session_timeout: timeout, ..self }
    }

    /// Sets the longest wait of acquisitions that do not set their own, and of all other requests; 10 s by default.
    ///
    /// Zero is invalid.
    #[must_use]
    pub fn default_wait(self, wait: Duration) -> Self {
        Self { default_wait: wait, ..self }
    }

    /// Sets the longest wait of [`connect`](Self::connect), 10 s by default; zero is invalid.
    #[must_use]
    pub fn connect_timeout(self, timeout: Duration) -> Self {
        Self { connect_timeout: timeout, ..self }
    }

    /// Sets how long a call waits for a lock before the client logs a warning, 30 s by default.
    ///
    /// The warning has the contender in the way, as far as the client knows it. [`Duration::MAX`] switches it off; zero is
    /// invalid.
    #[must_use]
    pub fn warn_after(self, wait: Duration) -> Self {
        Self { warn_after: wait, ..self }
    }

    /// Sets how long a server may be silent before the client turns to another one.
    ///
    /// The default is a twelfth of the session timeout, and at most a quarter of the
    /// [connect timeout](Self::connect_timeout). It is at least 500 ms, or two fifths of a session timeout of less than
    /// 1.25 s.
    ///
    /// The time bounds each attempt to connect, and the silence on a connection, on which the client pings as often as
    /// needed. A longer time makes the client patient with slow networks; a shorter one leaves more of a lease when a
    /// server falls silent. Zero and more than two fifths of the session timeout are invalid.
    #[must_use]
    pub fn server_timeout(self, timeout: Duration) -> Self {
        Self { server_timeout: Some(timeout), ..self }
    }

    /// Sets the requests by which a session that holds locks proves that it is alive, by default [`Heartbeat::Write`].
    #[must_use]
    pub fn heartbeat(self, heartbeat: Heartbeat) -> Self {
        Self { heartbeat, ..self }
    }

    /// Sets the bounds within which the client keeps a lock for its own calls while other clients wait for it, by
    /// default 64 grants and 50 ms.
    ///
    /// They apply to mutexes, read-write locks and semaphores. Other clients may have other bounds. Zero turns are
    /// invalid.
    #[must_use]
    pub fn queueing(self, queueing: Queueing) -> Self {
        Self { queueing, ..self }
    }

    /// Sets whether `run` and annotated functions wait until the servers have acknowledged the release; by default,
    /// they do not ([`Release::Background`]).
    #[must_use]
    pub fn release(self, release: Release) -> Self {
        Self { release, ..self }
    }

    /// Declares the servers' `tickTime`, 2 s by default; it is part of the lease's margin.
    ///
    /// Zero and more than 24 hours are invalid.
    #[must_use]
    pub fn tick_time(self, tick_time: Duration) -> Self {
        Self { tick_time, ..self }
    }

    /// Declares the servers' `syncLimit` times `tickTime`, 10 s by default; it is part of the lease's margin.
    ///
    /// A server may answer reads for this long after it has lost its leader. Zero and more than 24 hours are invalid.
    #[must_use]
    pub fn sync_limit(self, sync_limit: Duration) -> Self {
        Self { sync_limit, ..self }
    }

    /// Sets the ACL of the nodes that this client creates, by default [`Acl::Open`]: any client may do anything.
    ///
    /// The nodes above locks may have [another one](Self::parent_acl). A list that is empty or has an invalid entry is
    /// refused when the client starts. So is one that means the user of this client, if the client has no digest, login
    /// or certificate.
    #[must_use]
    pub fn acl(self, acl: Acl) -> Self {
        Self { acl, ..self }
    }

    /// Sets the ACL of the missing nodes that this client creates above locks, ticks, shared numbers and data: the
    /// chroot, the namespace, and the parents in a path. By default, it is that of [`acl`](Self::acl).
    ///
    /// The node of a lock is not above the lock: to create and delete there is to enter its queue and to take it away. A
    /// node that was created as a parent keeps its list, even if it becomes the node of a lock later.
    ///
    /// # Examples
    ///
    /// Other teams may create their own locks below the parents, and have no permission on the locks of this one.
    ///
    /// ```
    /// use zklock_core::{Acl, Config};
    ///
    /// let config = Config::new("zk1:2181")
    ///     .namespace("/locks")
    ///     .digest("billing", "secret")
    ///     .acl(Acl::CreatorAll)
    ///     .parent_acl(Acl::entries(["auth::cdrwa", "world:anyone:cr"]));
    /// ```
    #[must_use]
    pub fn parent_acl(self, acl: Acl) -> Self {
        Self { parent_acl: Some(acl), ..self }
    }

    /// Logs in by SASL with the mechanism GSSAPI, which is Kerberos.
    ///
    /// ACLs know the client by its principal, such as `worker@EXAMPLE.ORG`, unless the servers map it to another
    /// name. A client without a ticket gets no session: [`connect`](Self::connect) fails with
    /// [`LockError::Connect`], other calls with [`LockError::Timeout`], and the client library logs the reason. A
    /// client that the servers do not log in is refused with [`LockError::AuthFailed`]. A login by
    /// [`sasl_digest`](Self::sasl_digest) besides is invalid.
    #[cfg(feature = "sasl-gssapi")]
    #[cfg_attr(not(feature = "sasl-digest"), allow(rustdoc::broken_intra_doc_links))]
    #[must_use]
    pub fn sasl_gssapi(self, gssapi: Gssapi) -> Self {
        Self { sasl_gssapi: Some(gssapi), ..self }
    }

    /// Encrypts all connections, with these certificates. None are encrypted by default.
    ///
    /// Each server of the connect string needs the number of its secure port. The servers may be written as
    /// `tcp+tls://host:port`. The files are read and checked by [`connect`](Self::connect) and [`start`](Self::start).
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn tls(self, tls: Tls) -> Self {
        Self { tls: Some(tls), ..self }
    }
}

/// Returns the default identity. Its random part distinguishes processes in containers, which may share the host name and
/// the process id.
fn own_identity() -> String {
    let (host, random) = (gethostname::gethostname(), Uuid::new_v4().as_u64_pair().0 >> 32);
    format!("{}/{}/{random:08x}", host.to_string_lossy(), std::process::id())
}

/// Returns the error of a setting that cannot be used.
fn invalid(setting: &'static str, reason: impl Into<String>) -> LockError {
    LockError::InvalidConfig { setting, reason: reason.into() }
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Digests are secrets, and are therefore left out.
        f.debug_struct("Config")
            .field("connect", &self.connect)
            .field("namespace", &self.namespace)
            .field("session_timeout", &self.session_timeout)
            .field("default_wait", &self.default_wait)
            .field("acl", &self.acl)
            .field("parent_acl", &self.parent_acl)
            .field("identity", &self.identity)
            .finish_non_exhaustive()
    }
}

/// Checks the data of a contender's node.
pub(crate) fn check_identity(identity: &str) -> Result<(), LockError> {
    if identity.len() > LONGEST_IDENTITY {
        return Err(invalid("identity", format!("it is longer than {LONGEST_IDENTITY} bytes")));
    }
    if identity.as_bytes() == REVOKE {
        return Err(invalid("identity", "it is reserved for asking a holder to release".to_owned()));
    }
    Ok(())
}

/// The shortest look for the reason why a server opens no session. A distant one answers later than a near one.
const SHORTEST_LOOK: Duration = Duration::from_millis(300);
/// The protocol counts milliseconds in 32 bits, and a day is more than any server grants.
const LONGEST_SESSION: Duration = Duration::from_secs(24 * 60 * 60);
/// The longest identity in bytes: each waiter reads the data of the node that it watches.
const LONGEST_IDENTITY: usize = 1024;

#[cfg(test)]
mod tests {
    #[cfg(feature = "serde")]
    use super::*;
    #[cfg(feature = "serde")]
    use crate::client::connect_string::UNSET;

    #[cfg(feature = "serde")]
    #[test]
    fn a_configuration_is_read_from_what_serde_reads() {
        let text = r#"{"connect": "a:1/x", "session_timeout": "12s", "acl": "creator_all",
                       "digests": ["u:p"], "identity": "me", "queueing": {"within": "10ms"}}"#;
        let config: Config = serde_json::from_str(text).unwrap();
        assert_eq!(config.session_timeout, Duration::from_secs(12));
        assert_eq!(config.queueing, Queueing { within: Duration::from_millis(10), ..Queueing::default() });
        let settings = config.validated().unwrap();
        assert_eq!((settings.root.as_str(), &*settings.identity), ("/x", "me"));
    }

    #[cfg(feature = "serde")]
    #[test]
    fn a_configuration_without_servers_is_refused_when_the_client_starts() {
        let config: Config = serde_json::from_str(r#"{"identity": "me"}"#).unwrap();
        assert_eq!(config.start().unwrap_err().to_string(), format!("invalid setting `connect`: {UNSET}"));
    }

    #[cfg(feature = "serde")]
    #[test]
    fn an_unknown_setting_is_an_error() {
        let error = serde_json::from_str::<Config>(r#"{"connect": "a", "timeout": "1s"}"#).unwrap_err();
        assert!(error.to_string().contains("unknown field `timeout`"), "{error}");
    }
}

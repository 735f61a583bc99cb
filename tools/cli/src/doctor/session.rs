//! The session of a doctor at one server.

use std::fmt;
use std::time::{Duration, Instant};

use tokio::time::{sleep, timeout};
use zklock::{Config, LockError};
use zookeeper_client as zk;

use crate::connection::{Server, Settings};

/// The findings of the session at one server.
#[derive(Clone, Debug)]
pub(super) struct Findings {
    /// The session timeout that the server granted.
    pub(super) granted: Duration,
    pub(super) reads: RoundTrips,
    pub(super) writes: RoundTrips,
    /// The permissions, or the reason why they are not known.
    pub(super) access: Result<Access, String>,
}

/// The permissions in the namespace.
#[derive(Clone, Debug)]
pub(super) struct Access {
    /// The nearest node of the namespace that exists. It decides who may create the rest.
    pub(super) node: String,
    /// The permissions that this client lacks there. Without the one to create, that to delete cannot be tried.
    pub(super) denied: Vec<&'static str>,
}

/// The reason why there are no findings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NoSession {
    /// The server refuses the login.
    Refused(String),
    Other(String),
}

impl From<String> for NoSession {
    fn from(reason: String) -> Self {
        Self::Other(reason)
    }
}

impl fmt::Display for NoSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Refused(reason) | Self::Other(reason)) = self;
        f.write_str(reason)
    }
}

/// Sorted round trips; at least one.
#[derive(Clone, Debug)]
pub(super) struct RoundTrips(Vec<Duration>);

/// A session, and the time in which each question to it must be answered.
struct Session {
    client: zk::Client,
    within: Duration,
}

/// Looks at one server. Returns the reason if it opens no session.
pub(super) async fn look(server: &Server, settings: &Settings) -> Result<Findings, NoSession> {
    let config = settings.config_of(server).map_err(|failure| failure.to_string())?;
    find_reason(config.clone()).await?;
    let client = connect(server, settings, config).await?;
    let granted = client.session_timeout();
    let session = Session { client, within: settings.default_wait };
    let client = &session.client;
    let reads = session.round_trips(READS, async || client.check_stat("/").await.map(drop)).await?;
    let write = async || {
        let mut writer = client.new_multi_writer();
        writer.add_check_version("/", -1)?;
        writer.commit().await.map(drop).map_err(zk::Error::from)
    };
    let writes = session.round_trips(WRITES, write).await?;
    let access = session.access(&settings.root).await;
    Ok(Findings { granted, reads, writes, access })
}

/// Connects as locks do, which finds the reason of a failure that the client library does not tell.
async fn find_reason(config: Config) -> Result<(), NoSession> {
    match config.connect().await {
        Ok(client) => {
            client.shutdown(Duration::ZERO).await;
            Ok(())
        }
        Err(error @ LockError::AuthFailed { .. }) => Err(NoSession::Refused(error.to_string())),
        Err(LockError::Connect { reason, .. } | LockError::Tls { reason, .. }) => Err(reason.into()),
        Err(error) => Err(error.to_string().into()),
    }
}

async fn connect(server: &Server, settings: &Settings, config: Config) -> Result<zk::Client, String> {
    let connector = zk::Client::connector()
        .with_session_timeout(settings.session_timeout)
        .with_connection_timeout(settings.connect_timeout / 8)
        .with_fail_eagerly();
    let connector = config.equip(connector).await.map_err(|error| error.to_string())?;
    let scheme = if settings.is_encrypted() { "tcp+tls://" } else { "" };
    let address = format!("{scheme}{}", server.address);
    let attempts = async {
        loop {
            match connector.clone().connect(&address).await {
                // A server with encrypted ports may answer a login before its session, which is a failure.
                Err(zk::Error::NoHosts) => sleep(PAUSE).await,
                connected => return connected,
            }
        }
    };
    within(settings.connect_timeout, attempts).await?.map_err(|error| error.to_string())
}

async fn within<T>(time: Duration, answer: impl Future<Output = T>) -> Result<T, String> {
    timeout(time, answer).await.map_err(|_| "no answer in time".to_owned())
}

/// The end of a transaction that fails on purpose.
enum Failed {
    /// In the last of its requests, as it should.
    Last,
    Denied(usize),
    /// There is no such parent.
    Missing,
    Refused(String),
}

impl Session {
    /// Repeats a request, for as long as one may take.
    async fn round_trips(
        &self,
        count: usize,
        request: impl AsyncFn() -> Result<(), zk::Error>,
    ) -> Result<RoundTrips, String> {
        let (began, mut times) = (Instant::now(), Vec::with_capacity(count));
        while times.is_empty() || (times.len() < count && began.elapsed() < self.within) {
            let sent = Instant::now();
            within(self.within, request()).await?.map_err(|error| error.to_string())?;
            times.push(sent.elapsed());
        }
        times.sort_unstable();
        Ok(RoundTrips(times))
    }

    /// Tries each permission, in transactions that fail afterwards, so that nothing is left of them.
    async fn access(&self, root: &str) -> Result<Access, String> {
        let parent = self.existing(root).await?;
        let node = if parent.is_empty() { "/".to_owned() } else { parent.clone() };
        let mut denied = Vec::new();
        match self.attempt(&parent).await? {
            Failed::Last => {}
            Failed::Denied(0) => denied.push("create"),
            Failed::Denied(_) => denied.push("delete"),
            Failed::Missing => return Err(format!("{node} was deleted meanwhile")),
            Failed::Refused(reason) => return Err(reason),
        }
        match within(self.within, self.client.list_children(&node)).await? {
            Ok(_) => {}
            Err(zk::Error::NoAuth) => denied.push("read"),
            Err(error) => return Err(error.to_string()),
        }
        Ok(Access { node, denied })
    }

    async fn existing(&self, root: &str) -> Result<String, String> {
        let mut parent = root;
        while !parent.is_empty() {
            let exists = match within(self.within, self.client.check_stat(parent)).await? {
                Ok(found) => found.is_some(),
                // Later servers do not tell it to a client that may not read.
                Err(zk::Error::NoAuth) => !matches!(self.attempt(parent).await?, Failed::Missing),
                Err(error) => return Err(error.to_string()),
            };
            if exists {
                break;
            }
            parent = parent.rsplit_once('/').map_or("", |(above, _)| above);
        }
        Ok(parent.to_owned())
    }

    /// Creates a node, deletes it, and fails.
    async fn attempt(&self, parent: &str) -> Result<Failed, String> {
        let options = zk::CreateMode::Persistent.with_acls(zk::Acls::anyone_all());
        let node = format!("{parent}/{NAME}");
        let mut writer = self.client.new_multi_writer();
        let added = writer.add_create(&node, b"", &options);
        let added = added.and_then(|()| writer.add_delete(&node, None));
        // The node is gone.
        let added = added.and_then(|()| writer.add_check_version(&node, -1));
        added.map_err(|error| error.to_string())?;
        match within(self.within, writer.commit()).await? {
            Err(zk::MultiWriteError::OperationFailed { index: 2, .. }) => Ok(Failed::Last),
            Err(zk::MultiWriteError::OperationFailed { index, source: zk::Error::NoAuth }) => {
                Ok(Failed::Denied(index))
            }
            Err(zk::MultiWriteError::OperationFailed { index: 0, source: zk::Error::NoNode }) => {
                Ok(Failed::Missing)
            }
            Err(zk::MultiWriteError::OperationFailed { source, .. }) => {
                Ok(Failed::Refused(source.to_string()))
            }
            Err(error) => Err(zk::Error::from(error).to_string()),
            Ok(_) => Ok(Failed::Refused("a transaction that must fail was applied".to_owned())),
        }
    }
}

impl RoundTrips {
    /// Returns the round trip that this part of all of them does not exceed, in percent.
    pub(super) fn percentile(&self, percent: usize) -> Duration {
        let last = self.0.len() - 1;
        self.0[(last * percent).div_ceil(100)]
    }
}

impl fmt::Display for RoundTrips {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [median, most, longest] = [50, 99, 100].map(|percent| self.percentile(percent));
        write!(f, "half within {median:.1?}, 99 % within {most:.1?}, all within {longest:.1?}")
    }
}

/// The pause between two attempts to connect.
const PAUSE: Duration = Duration::from_millis(10);
const NAME: &str = "zklock-doctor";
const READS: usize = 100;
const WRITES: usize = 20;

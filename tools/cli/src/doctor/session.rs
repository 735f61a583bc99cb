//! The session of a doctor at one server.

use std::fmt::Display;
use std::time::{Duration, Instant};

use tokio::time::{sleep, timeout};
use zklock::{Config, LockError};
use zookeeper_client as zk;

use crate::connection::Settings;
use crate::exit::{Code, Failure};

/// The findings of the session at one server.
pub(super) struct Findings {
    /// The session timeout that the server granted.
    pub(super) granted: Duration,
    /// The times that half of all reads, 99 % of them, and all of them do not exceed.
    pub(super) reads: [Duration; 3],
    pub(super) writes: [Duration; 3],
    /// The nearest node of the namespace that exists, which decides who may create the rest, and the permissions that this
    /// client lacks there; or the reason why they are not known. Without the one to create, that to delete cannot be tried.
    pub(super) access: Result<(String, Vec<&'static str>), String>,
}

/// A session, and the time in which each question to it must be answered.
struct Session {
    client: zk::Client,
    within: Duration,
}

/// Looks at one server, as it was given and its address. Returns the reason if it opens no session.
pub(super) async fn look(
    (name, address): &(String, String),
    settings: &Settings,
) -> Result<Findings, Failure> {
    let config = settings.config_of(name)?;
    find_reason(config.clone()).await?;
    let client = connect(address, settings, config).await.map_err(unavailable)?;
    let session = Session { client: client.clone(), within: settings.default_wait };
    let read = async || client.check_stat("/").await.map(drop);
    let write = async || {
        let mut writer = client.new_multi_writer();
        writer.add_check_version("/", -1)?;
        writer.commit().await.map(drop).map_err(zk::Error::from)
    };
    Ok(Findings {
        granted: client.session_timeout(),
        reads: session.round_trips(READS, read).await.map_err(unavailable)?,
        writes: session.round_trips(WRITES, write).await.map_err(unavailable)?,
        access: session.access(&settings.root).await,
    })
}

/// Connects as locks do, which finds the reason of a failure that the client library does not tell.
async fn find_reason(config: Config) -> Result<(), Failure> {
    match config.connect().await {
        Ok(client) => client.shutdown(Duration::ZERO).await,
        Err(LockError::Connect { reason, .. } | LockError::Tls { reason, .. }) => {
            return Err(unavailable(reason));
        }
        Err(error) => return Err(error.into()),
    }
    Ok(())
}

async fn connect(address: &str, settings: &Settings, config: Config) -> Result<zk::Client, String> {
    let connector = zk::Client::connector()
        .with_session_timeout(settings.session_timeout)
        .with_connection_timeout(settings.connect_timeout / 8)
        .with_fail_eagerly();
    let connector = config.equip(connector).await.map_err(text)?;
    let scheme = if settings.is_encrypted() { "tcp+tls://" } else { "" };
    let address = format!("{scheme}{address}");
    let attempts = async {
        loop {
            match connector.clone().connect(&address).await {
                // A server with encrypted ports may answer a login before its session, which is a failure.
                Err(zk::Error::NoHosts) => sleep(PAUSE).await,
                connected => return connected,
            }
        }
    };
    within(settings.connect_timeout, attempts).await?.map_err(text)
}

async fn within<T>(time: Duration, answer: impl Future<Output = T>) -> Result<T, String> {
    timeout(time, answer).await.map_err(|_| "no answer in time".to_owned())
}

fn unavailable(reason: String) -> Failure {
    Failure::new(Code::Unavailable, reason)
}

fn text(error: impl Display) -> String {
    error.to_string()
}

impl Session {
    /// Repeats a request, for as long as one may take.
    async fn round_trips(
        &self,
        count: usize,
        request: impl AsyncFn() -> Result<(), zk::Error>,
    ) -> Result<[Duration; 3], String> {
        let (began, mut times) = (Instant::now(), Vec::with_capacity(count));
        while times.is_empty() || (times.len() < count && began.elapsed() < self.within) {
            let sent = Instant::now();
            within(self.within, request()).await?.map_err(text)?;
            times.push(sent.elapsed());
        }
        times.sort_unstable();
        let last = times.len() - 1;
        Ok([50, 99, 100].map(|percent| times[(last * percent).div_ceil(100)]))
    }

    /// Tries each permission, in transactions that fail afterwards, so that nothing is left of them.
    async fn access(&self, root: &str) -> Result<(String, Vec<&'static str>), String> {
        let parent = self.existing(root).await?;
        let node = if parent.is_empty() { "/".to_owned() } else { parent.clone() };
        let mut denied = Vec::new();
        match self.attempt(&parent).await? {
            (LAST, _) => {}
            (0, zk::Error::NoAuth) => denied.push("create"),
            (_, zk::Error::NoAuth) => denied.push("delete"),
            (0, zk::Error::NoNode) => return Err(format!("{node} was deleted meanwhile")),
            (_, error) => return Err(error.to_string()),
        }
        match within(self.within, self.client.list_children(&node)).await? {
            Ok(_) => {}
            Err(zk::Error::NoAuth) => denied.push("read"),
            Err(error) => return Err(error.to_string()),
        }
        Ok((node, denied))
    }

    async fn existing(&self, root: &str) -> Result<String, String> {
        let mut parent = root;
        while !parent.is_empty() {
            let exists = match within(self.within, self.client.check_stat(parent)).await? {
                Ok(found) => found.is_some(),
                // Later servers do not tell it to a client that may not read.
                Err(zk::Error::NoAuth) => !matches!(self.attempt(parent).await?, (0, zk::Error::NoNode)),
                Err(error) => return Err(error.to_string()),
            };
            if exists {
                break;
            }
            parent = parent.rsplit_once('/').map_or("", |(above, _)| above);
        }
        Ok(parent.to_owned())
    }

    /// Creates a node, deletes it, and fails. Returns the number of the request that failed, and its error.
    async fn attempt(&self, parent: &str) -> Result<(usize, zk::Error), String> {
        let options = zk::CreateMode::Persistent.with_acls(zk::Acls::anyone_all());
        let node = format!("{parent}/{NAME}");
        let mut writer = self.client.new_multi_writer();
        writer.add_create(&node, b"", &options).map_err(text)?;
        writer.add_delete(&node, None).map_err(text)?;
        // The node is gone.
        writer.add_check_version(&node, -1).map_err(text)?;
        match within(self.within, writer.commit()).await? {
            Err(zk::MultiWriteError::OperationFailed { index, source }) => Ok((index, source)),
            Err(error) => Err(zk::Error::from(error).to_string()),
            Ok(_) => Err("a transaction that must fail was applied".to_owned()),
        }
    }
}

/// The last request of a transaction that fails on purpose.
const LAST: usize = 2;
/// The pause between two attempts to connect.
const PAUSE: Duration = Duration::from_millis(10);
const NAME: &str = "zklock-doctor";
const READS: usize = 100;
const WRITES: usize = 20;

//! The sessions of a doctor at one server.

use std::fmt;
use std::time::{Duration, Instant};

use zklock::{Config, LockError};
use zookeeper_client as zk;

use super::clock::{self, Rate};
use super::login::{self, Login};
use super::namespace::{self, Namespace, Permission};
use super::question::Question;
use crate::connection::{Server, Settings};

/// The findings of the sessions at one server.
#[derive(Clone, Debug)]
pub(super) struct Findings {
    /// The session timeout that the server granted.
    pub(super) granted: Duration,
    /// The shortest session timeout that the server grants. It is two ticks, unless it is configured.
    pub(super) shortest: Option<Duration>,
    pub(super) reads: RoundTrips,
    pub(super) writes: RoundTrips,
    /// The permissions, or the reason why they are not known.
    pub(super) namespace: Result<Namespace, String>,
    /// The rate of the servers' clock, if this client may write and the round trips are short enough, or the reason why
    /// it is not known.
    pub(super) clock: Result<Option<Rate>, String>,
    /// The answer to the credentials, if this client has some.
    pub(super) login: Option<Login>,
}

/// The reason why there are no findings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NoSession {
    /// The server refuses the login.
    Refused,
    Other(String),
}

impl From<String> for NoSession {
    fn from(reason: String) -> Self {
        Self::Other(reason)
    }
}

impl fmt::Display for NoSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused => f.write_str("the server refuses the credentials"),
            Self::Other(reason) => f.write_str(reason),
        }
    }
}

/// Sorted round trips; at least one.
#[derive(Clone, Debug)]
pub(super) struct RoundTrips(Vec<Duration>);

/// Opens sessions at one server. Returns the reason if that is not possible.
pub(super) async fn look(server: &Server, settings: &Settings) -> Result<Findings, NoSession> {
    let question = Question { within: settings.default_wait };
    let client = connect(server, settings).await?;
    let shortest = attempt(server, settings, Duration::from_millis(1), settings.connect_timeout).await;
    let shortest = shortest.ok().map(|client| client.session_timeout());
    let reads = round_trips(READS, question, || client.check_stat("/")).await?;
    let writes = round_trips(WRITES, question, || {
        let mut writer = client.new_multi_writer();
        let added = writer.add_check_version("/", -1);
        let committed = writer.commit();
        async move {
            added?;
            committed.await.map(drop).map_err(zk::Error::from)
        }
    });
    let writes = writes.await?;
    let namespace = namespace::look(&client, &settings.root, question).await;
    let clock = match &namespace {
        Ok(found) if found.create == Permission::Granted => clock_at(&client, &found.node, question).await,
        Ok(_) | Err(_) => Ok(None),
    };
    // The last question, because an old server closes the connection on it.
    let login = login::look(&client, settings.credentials(), question).await;
    Ok(Findings { granted: client.session_timeout(), shortest, reads, writes, namespace, clock, login })
}

/// Measures the rate of the clock by a node that is deleted afterwards, and goes with the session otherwise.
async fn clock_at(client: &zk::Client, parent: &str, question: Question) -> Result<Option<Rate>, String> {
    let prefix = format!("{}/zklock-doctor-", parent.trim_end_matches('/'));
    let options = zk::CreateMode::EphemeralSequential.with_acls(zk::Acls::anyone_all());
    let (_, sequence) = question.ask(client.create(&prefix, b"", &options)).await?;
    let node = format!("{prefix}{sequence}");
    let rate = clock::rate(client, &node, question).await;
    let deleted = question.ask(client.delete(&node, None)).await;
    let rate = rate?;
    // A client that may not delete it leaves that to the server.
    deleted.ok();
    Ok(rate)
}

/// Opens a session, or finds the reason why that is not possible.
async fn connect(server: &Server, settings: &Settings) -> Result<zk::Client, NoSession> {
    let deadline = Instant::now() + settings.connect_timeout;
    loop {
        // The other half is for the search for the reason of a failure.
        let within = deadline.saturating_duration_since(Instant::now()) / 2;
        let failure = match attempt(server, settings, settings.session_timeout, within).await {
            Err(NoSession::Other(failure)) => failure,
            outcome => return outcome,
        };
        find_reason(config(server, settings)?.connect_timeout(within.max(SHORTEST))).await?;
        // The failure has passed.
        if within < SHORTEST {
            return Err(failure.into());
        }
    }
}

/// Tries to open a session.
async fn attempt(
    server: &Server,
    settings: &Settings,
    timeout: Duration,
    within: Duration,
) -> Result<zk::Client, NoSession> {
    let connector = zk::Client::connector().with_session_timeout(timeout).with_fail_eagerly();
    let connector = config(server, settings)?.equip(connector).await.map_err(|error| error.to_string())?;
    let scheme = if settings.is_encrypted() { "tcp+tls://" } else { "" };
    let address = format!("{scheme}{}", server.address);
    match tokio::time::timeout(within, connector.connect(&address)).await {
        Ok(Ok(client)) => Ok(client),
        Ok(Err(zk::Error::AuthFailed)) => Err(NoSession::Refused),
        Ok(Err(error)) => Err(error.to_string().into()),
        Err(_) => Err("no answer in time".to_owned().into()),
    }
}

fn config(server: &Server, settings: &Settings) -> Result<Config, String> {
    settings.config_of(server).map_err(|failure| failure.to_string())
}

/// Connects as locks do, which finds the reason of a failure that the client library does not tell.
async fn find_reason(config: Config) -> Result<(), NoSession> {
    match config.connect().await {
        Ok(client) => {
            client.shutdown(Duration::ZERO).await;
            Ok(())
        }
        Err(LockError::AuthFailed { .. }) => Err(NoSession::Refused),
        Err(LockError::Connect { reason, .. } | LockError::Tls { reason, .. }) => Err(reason.into()),
        Err(error) => Err(error.to_string().into()),
    }
}

/// Repeats a request, for as long as one may take.
async fn round_trips<T, F: Future<Output = Result<T, zk::Error>>>(
    count: usize,
    question: Question,
    mut request: impl FnMut() -> F,
) -> Result<RoundTrips, String> {
    let (began, mut times) = (Instant::now(), Vec::with_capacity(count));
    while times.is_empty() || (times.len() < count && began.elapsed() < question.within) {
        let sent = Instant::now();
        question.ask(request()).await?;
        times.push(sent.elapsed());
    }
    times.sort_unstable();
    Ok(RoundTrips(times))
}

impl RoundTrips {
    /// Returns the round trip that this part of all of them does not exceed, in percent.
    pub(super) fn percentile(&self, percent: usize) -> Duration {
        let last = self.0.len() - 1;
        self.0[(last * percent).div_ceil(100)]
    }
}

/// The shortest time for a connection.
const SHORTEST: Duration = Duration::from_millis(100);
const READS: usize = 100;
const WRITES: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_of_the_sorted_round_trips() {
        let trips = RoundTrips((1..=100).map(Duration::from_millis).collect());
        let percentiles = [0, 50, 99, 100].map(|percent| trips.percentile(percent).as_millis());
        assert_eq!(percentiles, [1, 51, 100, 100]);
        assert_eq!(RoundTrips(vec![Duration::ZERO]).percentile(99), Duration::ZERO);
    }
}

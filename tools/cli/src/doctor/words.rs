//! The four-letter words, which servers answer outside of the protocol if they are permitted.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// The answers of a server to the words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Words {
    /// The version, if the server answers `srvr`.
    pub(super) version: Option<String>,
    /// The role of the server in its ensemble.
    pub(super) mode: Option<String>,
    /// The lines of `conf`, if the server answers it.
    pub(super) conf: BTreeMap<String, String>,
}

impl Words {
    /// A time of the configuration, in milliseconds on the server.
    pub(super) fn time(&self, name: &str) -> Option<Duration> {
        self.conf.get(name)?.parse().ok().map(Duration::from_millis)
    }

    /// Returns how far the server may be behind its leader. A server without an ensemble states nothing.
    pub(super) fn sync_limit(&self) -> Option<Duration> {
        let ticks: u32 = self.conf.get("syncLimit")?.parse().ok()?;
        self.time("tickTime")?.checked_mul(ticks).filter(|limit| !limit.is_zero())
    }

    fn read(srvr: &str, conf: &str) -> Self {
        let line = |name: &str| srvr.lines().find_map(|line| line.strip_prefix(name));
        let pairs = conf.lines().filter_map(|line| line.split_once('='));
        Self {
            version: line("Zookeeper version: ").and_then(|rest| rest.split(',').next()).map(str::to_owned),
            mode: line("Mode: ").map(|mode| mode.trim().to_owned()),
            conf: pairs.map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned())).collect(),
        }
    }
}

/// Asks a server. A word that it does not answer is left out.
pub(super) async fn ask(server: &str, within: Duration) -> Words {
    let (srvr, conf) = tokio::join!(word(server, "srvr", within), word(server, "conf", within));
    Words::read(&srvr.unwrap_or_default(), &conf.unwrap_or_default())
}

async fn word(server: &str, word: &str, within: Duration) -> io::Result<String> {
    let asked = async {
        let mut stream = TcpStream::connect(server).await?;
        stream.write_all(word.as_bytes()).await?;
        let mut answer = Vec::new();
        stream.take(LONGEST).read_to_end(&mut answer).await?;
        Ok(String::from_utf8_lossy(&answer).into_owned())
    };
    timeout(within, asked).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

/// No answer is longer.
const LONGEST: u64 = 64 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_and_refusals_leave_nothing() {
        let srvr = "Zookeeper version: 3.8.0-5a02a05eddb59aee6ac762f7ea82e92a68eb9c0f, built on 2022-02-25\n\
                    Latency min/avg/max: 0/0.0/0\nMode: follower\nNode count: 5\n";
        let words = Words::read(srvr, "clientPort=2181\ntickTime=2000\nsyncLimit=5\n");
        assert_eq!(words.version.as_deref(), Some("3.8.0-5a02a05eddb59aee6ac762f7ea82e92a68eb9c0f"));
        assert_eq!(words.mode.as_deref(), Some("follower"));
        assert_eq!(words.time("tickTime"), Some(Duration::from_secs(2)));
        assert_eq!(words.sync_limit(), Some(Duration::from_secs(10)));
        let refused = "conf is not executed because it is not in the whitelist.\n";
        assert_eq!(Words::read(refused, refused), Words::default());
    }
}

//! The four-letter words, which servers answer outside of the protocol if they are permitted.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// The lines of a server's answers to `srvr` and `conf`, if it gives them.
#[derive(Debug, Default)]
pub(super) struct Words(String);

impl Words {
    /// Returns the rest of the line that begins like this.
    fn value(&self, begin: &str) -> Option<&str> {
        self.0.lines().find_map(|line| line.strip_prefix(begin)).map(str::trim)
    }

    pub(super) fn version(&self) -> Option<&str> {
        self.value("Zookeeper version: ")?.split(',').next()
    }

    /// Returns the role of the server in its ensemble.
    pub(super) fn mode(&self) -> Option<&str> {
        self.value("Mode: ")
    }

    pub(super) fn tick_time(&self) -> Option<Duration> {
        self.value("tickTime=")?.parse().ok().map(Duration::from_millis)
    }

    /// Returns how far the server may be behind its leader. A server without an ensemble states nothing.
    pub(super) fn sync_limit(&self) -> Option<Duration> {
        let ticks: u32 = self.value("syncLimit=")?.parse().ok()?;
        self.tick_time()?.checked_mul(ticks).filter(|limit| !limit.is_zero())
    }
}

/// Asks a server. A word that it does not answer is left out.
pub(super) async fn ask(server: &str, within: Duration) -> Words {
    let (srvr, conf) = tokio::join!(word(server, "srvr", within), word(server, "conf", within));
    Words(format!("{}\n{}", srvr.unwrap_or_default(), conf.unwrap_or_default()))
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
        let words = Words(format!("{srvr}clientPort=2181\ntickTime=2000\nsyncLimit=5\n"));
        assert_eq!(words.version(), Some("3.8.0-5a02a05eddb59aee6ac762f7ea82e92a68eb9c0f"));
        assert_eq!(words.mode(), Some("follower"));
        assert_eq!(words.tick_time(), Some(Duration::from_secs(2)));
        assert_eq!(words.sync_limit(), Some(Duration::from_secs(10)));
        let refused = Words("conf is not executed because it is not in the whitelist.\n".to_owned());
        assert_eq!((refused.version(), refused.mode(), refused.tick_time()), (None, None, None));
    }
}

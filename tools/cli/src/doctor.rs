//! `zklock doctor`: looks at each server of the list, and says what to change.
//!
//! It speaks to one server at a time, in sessions of its own ([`session`]), and leaves nothing behind on the servers. Each
//! question has a bound.

mod session;

use std::fmt::Write;
use std::process::ExitCode;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::connection::Settings;
use crate::exit::{Code, Failure};
use crate::output::Output;
use crate::program::{End, Signals};

use self::session::{Findings, NoSession};

/// Looks at each server until a signal ends it, and tells the most severe finding by the exit code.
pub(crate) async fn doctor(settings: Settings, output: &Output) -> Result<End, Failure> {
    let mut signals = Signals::catch().map_err(Failure::system("catch signals"))?;
    tokio::select! {
        signal = signals.end() => Ok(End::Signal(signal)),
        outcome = look(&settings, output) => outcome.map(End::from),
    }
}

async fn look(settings: &Settings, output: &Output) -> Result<ExitCode, Failure> {
    let (mut is_reached, mut is_good) = (true, true);
    for server in &settings.servers {
        // The words are asked for unencrypted.
        let words = match settings.is_encrypted() {
            true => Words::default(),
            false => Words::of(&server.address, settings.connect_timeout).await,
        };
        let session = session::look(server, settings).await;
        let advice = match &session {
            Ok(found) => advice(settings, &words, found),
            Err(none) => none.advice.iter().map(|advice| (*advice).to_owned()).collect(),
        };
        is_reached &= session.is_ok();
        is_good &= advice.is_empty();
        let report = Report { name: &server.name, settings, words, session, advice };
        output.result(report.text(), &report.json()).await?;
    }
    Ok(match (is_reached, is_good) {
        (true, true) => ExitCode::SUCCESS,
        (true, false) => Code::Config.into(),
        (false, _) => Code::Unavailable.into(),
    })
}

/// Makes each check of the settings. Returns what to change.
fn advice(settings: &Settings, words: &Words, found: &Findings) -> Vec<String> {
    let (granted, asked) = (found.granted, settings.session_timeout);
    let raise = |name: &str, theirs: Option<Duration>, ours: Duration| {
        let theirs = theirs.filter(|theirs| *theirs > ours)?;
        Some(format!("set {name} to {theirs:?}, which is the server's; it is {ours:?} here"))
    };
    let checks = [
        raise("tick_time", words.tick_time(), settings.tick_time),
        raise("sync_limit", words.sync_limit(), settings.sync_limit),
        (granted != asked)
            .then(|| format!("set session_timeout to {granted:?}: the server does not grant {asked:?}")),
        match &found.access {
            Ok((_, denied)) if denied.is_empty() => None,
            Ok((node, denied)) => {
                Some(format!("permit this client to {} nodes at {node}", denied.join(", ")))
            }
            Err(reason) => Some(format!("find out why nodes cannot be looked at: {reason}")),
        },
        // A heartbeat is due every tenth of the session timeout.
        (found.writes[1] > granted / 10).then(|| SLOW.to_owned()),
    ];
    checks.into_iter().flatten().collect()
}

const SLOW: &str = "a write takes longer than the time between two heartbeats: find the slow disk or network";

/// The report about one server.
struct Report<'a> {
    name: &'a str,
    settings: &'a Settings,
    words: Words,
    session: Result<Findings, NoSession>,
    advice: Vec<String>,
}

impl Report<'_> {
    fn text(&self) -> String {
        let (words, mut rows) = (&self.words, Vec::new());
        if words.version().is_some() || self.session.is_ok() {
            let unknown = || "unknown: no answer, which is not asked for on an encrypted port".to_owned();
            let mode = words.mode().map(|mode| format!(" ({mode})")).unwrap_or_default();
            rows.push(("version", words.version().map_or_else(unknown, |of| format!("{of}{mode}"))));
            rows.push(("tick time", words.tick_time().map_or_else(unknown, |tick| format!("{tick:?}"))));
        }
        match &self.session {
            Err(none) => rows.push(("session", format!("none: {}", none.reason))),
            Ok(found) => rows.extend([
                (
                    "session",
                    format!("asked {:?}, granted {:?}", self.settings.session_timeout, found.granted),
                ),
                ("reads", times(found.reads)),
                ("writes", times(found.writes)),
                ("access", access(found)),
            ]),
        }
        rows.extend(self.note().map(|note| ("to look at", note)));
        rows.extend(self.advice.iter().map(|advice| ("to change", advice.clone())));
        let mut text = format!("{}\n", self.name);
        for (name, value) in rows {
            // Writing to a text cannot fail.
            let _ = writeln!(text, "  {name:<11} {value}");
        }
        text
    }

    fn json(&self) -> Value {
        let ms = |duration: Duration| duration.as_secs_f64() * 1_000.0;
        let trips = |trips: [Duration; 3]| {
            let [median, most, longest] = trips.map(ms);
            json!({"p50_ms": median, "p99_ms": most, "longest_ms": longest})
        };
        let session = self.session.as_ref().ok().map(|found| {
            json!({
                "granted_ms": ms(found.granted),
                "reads": trips(found.reads),
                "writes": trips(found.writes),
                "namespace": found.access.as_ref().ok().map(|(node, _)| node),
                "denied": found.access.as_ref().ok().map(|(_, denied)| denied),
                "namespace_error": found.access.as_ref().err(),
            })
        });
        json!({
            "server": self.name,
            "version": self.words.version(),
            "mode": self.words.mode(),
            "tick_time_ms": self.words.tick_time().map(ms),
            "asked_ms": ms(self.settings.session_timeout),
            "session": session,
            "error": self.session.as_ref().err().map(|none| &none.reason),
            "advice": self.advice,
            "notes": self.note().as_slice(),
        })
    }

    /// Returns a difference from the settings that does no harm.
    fn note(&self) -> Option<String> {
        let ours = self.settings.tick_time;
        let theirs = self.words.tick_time().filter(|theirs| *theirs < ours)?;
        Some(format!(
            "tick_time is {ours:?} here and {theirs:?} at the server: locks are lost that much earlier"
        ))
    }
}

fn times([median, most, longest]: [Duration; 3]) -> String {
    format!("half within {median:.1?}, 99 % within {most:.1?}, all within {longest:.1?}")
}

fn access(found: &Findings) -> String {
    let (node, denied) = match &found.access {
        Ok(access) => access,
        Err(reason) => return format!("unknown: {reason}"),
    };
    let rows = ["create", "read", "delete"].map(|name| match denied.contains(&name) {
        true => format!("{name} denied"),
        false => format!("{name} granted"),
    });
    format!("at {node}: {}", rows.join(", "))
}

/// The lines of a server's answers to `srvr` and `conf`, if it is permitted to give them.
#[derive(Default)]
struct Words(String);

impl Words {
    /// Asks a server. A word that it does not answer is left out.
    async fn of(server: &str, within: Duration) -> Self {
        let ask = async |word: &str| -> std::io::Result<String> {
            let mut stream = TcpStream::connect(server).await?;
            stream.write_all(word.as_bytes()).await?;
            let mut answer = Vec::new();
            stream.take(LONGEST).read_to_end(&mut answer).await?;
            Ok(String::from_utf8_lossy(&answer).into_owned())
        };
        let (srvr, conf) = tokio::join!(timeout(within, ask("srvr")), timeout(within, ask("conf")));
        let answers = [srvr, conf].map(|answer| answer.ok().and_then(Result::ok).unwrap_or_default());
        Self(answers.join("\n"))
    }

    /// Returns the rest of the line that begins like this.
    fn value(&self, begin: &str) -> Option<&str> {
        self.0.lines().find_map(|line| line.strip_prefix(begin)).map(str::trim)
    }

    fn version(&self) -> Option<&str> {
        self.value("Zookeeper version: ")?.split(',').next()
    }

    /// Returns the role of the server in its ensemble.
    fn mode(&self) -> Option<&str> {
        self.value("Mode: ")
    }

    fn tick_time(&self) -> Option<Duration> {
        self.value("tickTime=")?.parse().ok().map(Duration::from_millis)
    }

    /// Returns how far the server may be behind its leader. A server without an ensemble states nothing.
    fn sync_limit(&self) -> Option<Duration> {
        let ticks: u32 = self.value("syncLimit=")?.parse().ok()?;
        self.tick_time()?.checked_mul(ticks).filter(|limit| !limit.is_zero())
    }
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

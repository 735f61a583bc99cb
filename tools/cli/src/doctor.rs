//! `zklock doctor`: looks at each server of the list, and says what to change.
//!
//! It speaks to one server at a time, in sessions of its own ([`session`]), and leaves nothing behind on the servers. Each
//! question has a bound.

mod session;

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

use self::session::Findings;

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
        let (name, address) = server;
        // The words are asked for unencrypted.
        let words = match settings.is_encrypted() {
            true => String::new(),
            false => words(address, settings.connect_timeout).await,
        };
        let (words, session) = (Words::of(&words), session::look(server, settings).await);
        let advice = match &session {
            Ok(found) => advice(settings, &words, found),
            Err(failure) if failure.code() == Code::Denied => vec![CREDENTIALS.to_owned()],
            Err(_) => Vec::new(),
        };
        is_reached &= session.is_ok();
        is_good &= advice.is_empty();
        let report = Report { name, settings, words, session, advice };
        output.result(report.text(), &report.json()).await?;
    }
    Ok(match (is_reached, is_good) {
        (true, true) => ExitCode::SUCCESS,
        (true, false) => Code::Config.into(),
        (false, _) => Code::Unavailable.into(),
    })
}

/// Makes each check of the settings. Returns what to change.
fn advice(settings: &Settings, words: &Words<'_>, found: &Findings) -> Vec<String> {
    let (granted, asked) = (found.granted, settings.session_timeout);
    let raise = |name: &str, theirs: Option<Duration>, ours: Duration| {
        let theirs = theirs.filter(|theirs| *theirs > ours)?;
        Some(format!("set {name} to {theirs:?}, which is the server's; it is {ours:?} here"))
    };
    let checks = [
        raise("tick_time", words.tick_time, settings.tick_time),
        raise("sync_limit", words.sync_limit, settings.sync_limit),
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

const CREDENTIALS: &str = "correct the credentials here, or the users or the keytab at the server";
const SLOW: &str = "a write takes longer than the time between two heartbeats: find the slow disk or network";

/// The report about one server.
struct Report<'a> {
    name: &'a str,
    settings: &'a Settings,
    words: Words<'a>,
    session: Result<Findings, Failure>,
    advice: Vec<String>,
}

impl Report<'_> {
    fn text(&self) -> String {
        let (words, mut rows) = (&self.words, Vec::new());
        if words.version.is_some() || self.session.is_ok() {
            let unknown = |word| {
                format!("unknown: the server does not permit or answer `{word}`, or its port is encrypted")
            };
            let known = |answer: Option<String>, word| answer.unwrap_or_else(|| unknown(word));
            let mode = words.mode.map(|mode| format!(" ({mode})")).unwrap_or_default();
            rows.push(("version", known(words.version.map(|of| format!("{of}{mode}")), "srvr")));
            rows.push(("tick time", known(words.tick_time.map(|tick| format!("{tick:?}")), "conf")));
        }
        let asked = self.settings.session_timeout;
        match &self.session {
            Err(failure) => rows.push(("session", format!("none: {failure}"))),
            Ok(found) => rows.extend([
                ("session", format!("asked {asked:?}, granted {:?}", found.granted)),
                ("reads", times(found.reads)),
                ("writes", times(found.writes)),
                ("access", access(found)),
            ]),
        }
        rows.extend(self.note().map(|note| ("to look at", note)));
        rows.extend(self.advice.iter().map(|advice| ("to change", advice.clone())));
        let lines = rows.iter().map(|(name, value)| format!("  {name:<11} {value}\n"));
        format!("{}\n{}", self.name, lines.collect::<String>())
    }

    fn json(&self) -> Value {
        let ms = |duration: Duration| duration.as_secs_f64() * 1_000.0;
        let trips = |trips: [Duration; 3]| {
            let [median, most, longest] = trips.map(ms);
            json!({"p50_ms": median, "p99_ms": most, "longest_ms": longest})
        };
        let session = self.session.as_ref().ok().map(|found| {
            let (node, denied) = found.access.as_ref().ok().map(|(node, denied)| (node, denied)).unzip();
            json!({
                "granted_ms": ms(found.granted),
                "reads": trips(found.reads),
                "writes": trips(found.writes),
                "namespace": node,
                "denied": denied,
                "namespace_error": found.access.as_ref().err(),
            })
        });
        json!({
            "server": self.name,
            "version": self.words.version,
            "mode": self.words.mode,
            "tick_time_ms": self.words.tick_time.map(ms),
            "asked_ms": ms(self.settings.session_timeout),
            "session": session,
            "error": self.session.as_ref().err().map(Failure::to_string),
            "advice": self.advice,
            "notes": self.note().as_slice(),
        })
    }

    /// Returns a difference from the settings that does no harm.
    fn note(&self) -> Option<String> {
        let ours = self.settings.tick_time;
        let theirs = self.words.tick_time.filter(|theirs| *theirs < ours)?;
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
    let word = |name| if denied.contains(&name) { "denied" } else { "granted" };
    let rows = ["create", "read", "delete"].map(|name| format!("{name} {}", word(name)));
    format!("at {node}: {}", rows.join(", "))
}

/// Asks a server for its answers to `srvr` and `conf`. One that it does not give is left out.
async fn words(server: &str, within: Duration) -> String {
    let ask = async |word: &str| -> std::io::Result<String> {
        let mut stream = TcpStream::connect(server).await?;
        stream.write_all(word.as_bytes()).await?;
        let mut answer = Vec::new();
        stream.take(LONGEST).read_to_end(&mut answer).await?;
        Ok(String::from_utf8_lossy(&answer).into_owned())
    };
    let (srvr, conf) = tokio::join!(timeout(within, ask("srvr")), timeout(within, ask("conf")));
    [srvr, conf].map(|answer| answer.ok().and_then(Result::ok).unwrap_or_default()).join("\n")
}

/// The server as it describes itself, if it is permitted to.
#[derive(Debug, Default, PartialEq)]
struct Words<'a> {
    version: Option<&'a str>,
    /// Its role in its ensemble.
    mode: Option<&'a str>,
    tick_time: Option<Duration>,
    /// How far it may be behind its leader. A server without an ensemble states nothing.
    sync_limit: Option<Duration>,
}

impl<'a> Words<'a> {
    fn of(answers: &'a str) -> Self {
        let value = |begin| answers.lines().find_map(|line| line.strip_prefix(begin)).map(str::trim);
        let tick = value("tickTime=").and_then(|tick| tick.parse().ok()).map(Duration::from_millis);
        let ticks = value("syncLimit=").and_then(|ticks| ticks.parse::<u32>().ok());
        let limit = tick.zip(ticks).and_then(|(tick, ticks)| tick.checked_mul(ticks));
        Self {
            version: value("Zookeeper version: ").and_then(|version| version.split(',').next()),
            mode: value("Mode: "),
            tick_time: tick,
            sync_limit: limit.filter(|limit| !limit.is_zero()),
        }
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
        let answers = format!("{srvr}clientPort=2181\ntickTime=2000\nsyncLimit=5\n");
        let expected = Words {
            version: Some("3.8.0-5a02a05eddb59aee6ac762f7ea82e92a68eb9c0f"),
            mode: Some("follower"),
            tick_time: Some(Duration::from_secs(2)),
            sync_limit: Some(Duration::from_secs(10)),
        };
        assert_eq!(Words::of(&answers), expected);
        let refused = "conf is not executed because it is not in the whitelist.\n";
        assert_eq!(Words::of(refused), Words::default());
    }
}

//! `zklock doctor`: looks at each server of the list, and says what to change.
//!
//! It speaks to one server at a time, in sessions of its own, and leaves nothing behind on the servers. Each question
//! has a bound.
//!
//! * [`words`]: the four-letter words, which servers may answer or not.
//! * [`session`]: the session: its timeout, round trips, and the permissions in the namespace.
//!
//! Uses the floors below: `program`, `connection`, `output` and `exit`.

mod session;
mod words;

use std::fmt;
use std::process::ExitCode;
use std::time::Duration;

use serde_json::{Value, json};

use crate::connection::{Server, Settings};
use crate::exit::{Code, Failure};
use crate::output::Output;
use crate::program::{End, Signals};

use self::session::{Access, Findings, NoSession, RoundTrips};
use self::words::Words;

/// Looks at each server until a signal ends it, and tells the most severe finding by the exit code.
pub(crate) async fn doctor(settings: Settings, output: &Output) -> Result<End, Failure> {
    let mut signals = Signals::catch().map_err(Failure::system("catch signals"))?;
    tokio::select! {
        signal = signals.end() => Ok(End::Signal(signal)),
        outcome = look(&settings, output) => outcome.map(End::from),
    }
}

async fn look(settings: &Settings, output: &Output) -> Result<ExitCode, Failure> {
    let mut worst = Severity::Good;
    for server in &settings.servers {
        // The words are asked for unencrypted.
        let words = match settings.is_encrypted() {
            true => Words::default(),
            false => words::ask(&server.address, settings.connect_timeout).await,
        };
        let session = session::look(server, settings).await;
        let report = Report::new(server, settings, words, session);
        worst = worst.max(report.severity());
        output.result(&report, &report.json()).await?;
    }
    Ok(match worst {
        Severity::Good => ExitCode::SUCCESS,
        Severity::Change => Code::Config.into(),
        Severity::Unreachable => Code::Unavailable.into(),
    })
}

/// The report about one server.
#[derive(Debug)]
struct Report {
    server: String,
    asked: Duration,
    words: Words,
    session: Result<Findings, NoSession>,
    advice: Vec<String>,
    /// A difference from the settings that does no harm.
    note: Option<String>,
}

/// The severity of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Severity {
    Good,
    Change,
    Unreachable,
}

impl Report {
    fn new(server: &Server, settings: &Settings, words: Words, session: Result<Findings, NoSession>) -> Self {
        let advice = match &session {
            Ok(findings) => advice(settings, &words, findings),
            Err(NoSession::Refused(_)) => {
                vec!["correct the credentials here, or the users or the keytab at the server".to_owned()]
            }
            // The reason says it.
            Err(NoSession::Other(_)) => Vec::new(),
        };
        let ours = settings.tick_time;
        let note = words.time("tickTime").filter(|tick| *tick < ours).map(|tick| {
            format!("tick_time is {ours:?} here and {tick:?} at the server: locks are lost that much earlier")
        });
        Self { server: server.name.clone(), asked: settings.session_timeout, words, session, advice, note }
    }

    fn severity(&self) -> Severity {
        match &self.session {
            Err(_) => Severity::Unreachable,
            Ok(_) if self.advice.is_empty() => Severity::Good,
            Ok(_) => Severity::Change,
        }
    }

    fn json(&self) -> Value {
        let ms = |duration: Duration| duration.as_secs_f64() * 1_000.0;
        let trips = |trips: &RoundTrips| {
            let [median, most, longest] = [50, 99, 100].map(|percent| ms(trips.percentile(percent)));
            json!({"p50_ms": median, "p99_ms": most, "longest_ms": longest})
        };
        let session = self.session.as_ref().ok().map(|found| {
            let access = found.access.as_ref().ok();
            json!({
                "granted_ms": ms(found.granted),
                "reads": trips(&found.reads),
                "writes": trips(&found.writes),
                "namespace": access.map(|access| &access.node),
                "denied": access.map(|access| &access.denied),
                "namespace_error": found.access.as_ref().err(),
            })
        });
        json!({
            "server": self.server,
            "version": self.words.version,
            "mode": self.words.mode,
            "tick_time_ms": self.words.time("tickTime").map(ms),
            "asked_ms": ms(self.asked),
            "session": session,
            "error": self.session.as_ref().err().map(ToString::to_string),
            "advice": self.advice,
            "notes": self.note.as_slice(),
        })
    }
}

/// Compares the settings with the findings.
fn advice(settings: &Settings, words: &Words, found: &Findings) -> Vec<String> {
    let mut advice = Vec::new();
    for (name, theirs, ours) in [
        ("tick_time", words.time("tickTime"), settings.tick_time),
        ("sync_limit", words.sync_limit(), settings.sync_limit),
    ] {
        if let Some(theirs) = theirs.filter(|theirs| *theirs > ours) {
            advice.push(format!("set {name} to {theirs:?}, which is the server's; it is {ours:?} here"));
        }
    }
    if found.granted != settings.session_timeout {
        let (granted, asked) = (found.granted, settings.session_timeout);
        advice.push(format!("set session_timeout to {granted:?}: the server does not grant {asked:?}"));
    }
    match &found.access {
        Ok(Access { denied, .. }) if denied.is_empty() => {}
        Ok(Access { node, denied }) => {
            advice.push(format!("permit this client to {} nodes at {node}", denied.join(", ")));
        }
        Err(reason) => advice.push(format!("find out why nodes cannot be looked at: {reason}")),
    }
    // A heartbeat is due every tenth of the session timeout.
    if found.writes.percentile(99) > found.granted / 10 {
        advice.push(
            "a write takes longer than the time between two heartbeats: find the slow disk or network".into(),
        );
    }
    advice
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { server, words, session, .. } = self;
        writeln!(f, "{server}")?;
        let mut line = |name: &str, value: &dyn fmt::Display| writeln!(f, "  {name:<11} {value}");
        if words.version.is_some() || session.is_ok() {
            let unknown = || "unknown: no answer, which is not asked for on an encrypted port".to_owned();
            let mode = words.mode.as_ref().map(|mode| format!(" ({mode})")).unwrap_or_default();
            line("version", &words.version.as_ref().map_or_else(unknown, |of| format!("{of}{mode}")))?;
            line("tick time", &words.time("tickTime").map_or_else(unknown, |tick| format!("{tick:?}")))?;
        }
        match session {
            Err(reason) => line("session", &format_args!("none: {reason}"))?,
            Ok(found) => {
                line("session", &format_args!("asked {:?}, granted {:?}", self.asked, found.granted))?;
                line("reads", &found.reads)?;
                line("writes", &found.writes)?;
                match &found.access {
                    Ok(Access { node, denied }) => {
                        let [create, read, delete] = ["create", "read", "delete"]
                            .map(|name| if denied.contains(&name) { "denied" } else { "granted" });
                        let access = format_args!("at {node}: create {create}, read {read}, delete {delete}");
                        line("access", &access)?;
                    }
                    Err(reason) => line("access", &format_args!("unknown: {reason}"))?,
                }
            }
        }
        self.note.iter().try_for_each(|note| writeln!(f, "  to look at  {note}"))?;
        self.advice.iter().try_for_each(|advice| writeln!(f, "  to change   {advice}"))
    }
}

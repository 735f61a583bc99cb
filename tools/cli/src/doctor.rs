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
    let (mut is_reached, mut is_good) = (true, true);
    for server in &settings.servers {
        // The words are asked for unencrypted.
        let words = match settings.is_encrypted() {
            true => Words::default(),
            false => words::ask(&server.address, settings.connect_timeout).await,
        };
        let session = session::look(server, settings).await;
        is_reached &= session.is_ok();
        let report = Report::new(server, settings, words, session);
        is_good &= report.advice.is_empty();
        output.result(&report, &report.json()).await?;
    }
    Ok(match (is_reached, is_good) {
        (true, true) => ExitCode::SUCCESS,
        (true, false) => Code::Config.into(),
        (false, _) => Code::Unavailable.into(),
    })
}

/// The report about one server.
struct Report<'a> {
    server: &'a Server,
    settings: &'a Settings,
    words: Words,
    session: Result<Findings, NoSession>,
    advice: Vec<String>,
    /// A difference from the settings that does no harm.
    note: Option<String>,
}

impl<'a> Report<'a> {
    fn new(
        server: &'a Server,
        settings: &'a Settings,
        words: Words,
        session: Result<Findings, NoSession>,
    ) -> Self {
        let advice = match &session {
            Ok(findings) => advice(settings, &words, findings),
            Err(none) => none.advice.iter().cloned().collect(),
        };
        let ours = settings.tick_time;
        let note = words.tick_time().filter(|tick| *tick < ours).map(|tick| {
            format!("tick_time is {ours:?} here and {tick:?} at the server: locks are lost that much earlier")
        });
        Self { server, settings, words, session, advice, note }
    }

    fn json(&self) -> Value {
        let ms = |duration: Duration| duration.as_secs_f64() * 1_000.0;
        let trips = |RoundTrips(trips): &RoundTrips| {
            let [median, most, longest] = trips.map(ms);
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
            "server": self.server.name,
            "version": self.words.version(),
            "mode": self.words.mode(),
            "tick_time_ms": self.words.tick_time().map(ms),
            "asked_ms": ms(self.settings.session_timeout),
            "session": session,
            "error": self.session.as_ref().err().map(|none| &none.reason),
            "advice": self.advice,
            "notes": self.note.as_slice(),
        })
    }
}

/// Compares the settings with the findings.
fn advice(settings: &Settings, words: &Words, found: &Findings) -> Vec<String> {
    let mut advice = Vec::new();
    for (name, theirs, ours) in [
        ("tick_time", words.tick_time(), settings.tick_time),
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
    let RoundTrips([_, most_writes, _]) = found.writes;
    if most_writes > found.granted / 10 {
        advice.push(
            "a write takes longer than the time between two heartbeats: find the slow disk or network".into(),
        );
    }
    advice
}

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { server, settings, words, session, .. } = self;
        writeln!(f, "{}", server.name)?;
        let mut line = |name: &str, value: &dyn fmt::Display| writeln!(f, "  {name:<11} {value}");
        if words.version().is_some() || session.is_ok() {
            let unknown = || "unknown: no answer, which is not asked for on an encrypted port".to_owned();
            let mode = words.mode().map(|mode| format!(" ({mode})")).unwrap_or_default();
            line("version", &words.version().map_or_else(unknown, |of| format!("{of}{mode}")))?;
            line("tick time", &words.tick_time().map_or_else(unknown, |tick| format!("{tick:?}")))?;
        }
        match session {
            Err(none) => line("session", &format_args!("none: {}", none.reason))?,
            Ok(found) => {
                let (asked, granted) = (settings.session_timeout, found.granted);
                line("session", &format_args!("asked {asked:?}, granted {granted:?}"))?;
                for (name, RoundTrips([median, most, longest])) in
                    [("reads", found.reads), ("writes", found.writes)]
                {
                    let times = format_args!(
                        "half within {median:.1?}, 99 % within {most:.1?}, all within {longest:.1?}"
                    );
                    line(name, &times)?;
                }
                line(
                    "access",
                    &found.access.as_ref().map_or_else(|reason| format!("unknown: {reason}"), access),
                )?;
            }
        }
        self.note.iter().try_for_each(|note| writeln!(f, "  to look at  {note}"))?;
        self.advice.iter().try_for_each(|advice| writeln!(f, "  to change   {advice}"))
    }
}

fn access(Access { node, denied }: &Access) -> String {
    let [create, read, delete] =
        ["create", "read", "delete"].map(|name| if denied.contains(&name) { "denied" } else { "granted" });
    format!("at {node}: create {create}, read {read}, delete {delete}")
}

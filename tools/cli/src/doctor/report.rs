//! The report about one server: the findings, and what to change.
//!
//! Pure: no request.

use std::fmt;
use std::time::Duration;

use serde_json::{Value, json};

use crate::connection::{Server, Settings};

use super::clock::{Rate, TOLERANCE};
use super::login::Login;
use super::namespace::{Containers, Namespace, Permission};
use super::session::{Findings, NoSession, RoundTrips};
use super::words::Words;

/// The report about one server.
#[derive(Debug)]
pub(super) struct Report {
    server: String,
    asked: Duration,
    words: Words,
    session: Result<Findings, NoSession>,
    advice: Vec<String>,
    /// Differences from the settings that do no harm, or are not certain.
    notes: Vec<String>,
}

/// The severity of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Severity {
    Good,
    Change,
    Unreachable,
}

impl Report {
    pub(super) fn new(
        server: &Server,
        settings: &Settings,
        words: Words,
        session: Result<Findings, NoSession>,
    ) -> Self {
        let advice = match &session {
            Ok(findings) => advice(settings, &words, findings),
            Err(NoSession::Refused) => Login::Refused.advice().into_iter().collect(),
            // The reason says it.
            Err(NoSession::Other(_)) => Vec::new(),
        };
        let notes = session.as_ref().map(|found| notes(settings, &words, found)).unwrap_or_default();
        Self { server: server.name.clone(), asked: settings.session_timeout, words, session, advice, notes }
    }

    pub(super) fn severity(&self) -> Severity {
        match &self.session {
            Err(_) => Severity::Unreachable,
            Ok(_) if self.advice.is_empty() => Severity::Good,
            Ok(_) => Severity::Change,
        }
    }

    fn login(&self) -> Option<&Login> {
        match &self.session {
            Ok(found) => found.login.as_ref(),
            Err(NoSession::Refused) => Some(&Login::Refused),
            Err(NoSession::Other(_)) => None,
        }
    }

    pub(super) fn json(&self) -> Value {
        let ms = |duration: Duration| duration.as_secs_f64() * 1_000.0;
        let trips = |trips: &RoundTrips| {
            let [median, most, longest] = [50, 99, 100].map(|percent| ms(trips.percentile(percent)));
            json!({"p50_ms": median, "p99_ms": most, "longest_ms": longest})
        };
        let session = self.session.as_ref().ok().map(|found| {
            let (namespace, rate) =
                (found.namespace.as_ref().ok(), found.clock.as_ref().ok().copied().flatten());
            json!({
                "granted_ms": ms(found.granted),
                "shortest_ms": found.shortest.map(ms),
                "reads": trips(&found.reads),
                "writes": trips(&found.writes),
                "namespace": namespace.map(|one| &one.node),
                "create": namespace.map(|one| permission(one.create)),
                "read": namespace.map(|one| permission(one.read)),
                "delete": namespace.map(|one| permission(one.delete)),
                "containers": namespace.map(|one| container_words(&one.containers)),
                "namespace_error": found.namespace.as_ref().err(),
                "clock_rate": rate.map(|rate| json!({"least": rate.least, "most": rate.most})),
                "clock_error": found.clock.as_ref().err(),
            })
        });
        json!({
            "server": self.server,
            "version": self.words.version,
            "mode": self.words.mode,
            "tick_time_ms": self.words.time("tickTime").map(ms),
            "asked_ms": ms(self.asked),
            "session": session,
            "login": self.login().map(Login::json),
            "error": self.session.as_ref().err().map(ToString::to_string),
            "advice": self.advice,
            "notes": self.notes,
        })
    }
}

/// Compares the settings with the findings.
fn advice(settings: &Settings, words: &Words, found: &Findings) -> Vec<String> {
    let mut advice = Vec::new();
    let tick = words.time("tickTime");
    if let Some(tick) = tick.filter(|tick| *tick > settings.tick_time) {
        let ours = settings.tick_time;
        advice.push(format!("set tick_time to {tick:?}, which is the server's; it is {ours:?} here"));
    }
    if let Some(limit) = tick.and_then(|tick| sync_limit(words, tick))
        && limit > settings.sync_limit
    {
        let ours = settings.sync_limit;
        advice.push(format!("set sync_limit to {limit:?}, which is the server's; it is {ours:?} here"));
    }
    if found.granted != settings.session_timeout {
        let (granted, asked) = (found.granted, settings.session_timeout);
        advice.push(format!("set session_timeout to {granted:?}: the server does not grant {asked:?}"));
    }
    match &found.namespace {
        Ok(namespace) => {
            advice.extend(permissions(namespace));
            if let Containers::Refused(_) = namespace.containers {
                advice.push("update ZooKeeper to 3.5.3 or later, which has containers".to_owned());
            }
        }
        Err(reason) => advice.push(format!("find out why nodes cannot be looked at: {reason}")),
    }
    advice.extend(found.login.as_ref().and_then(Login::advice));
    match found.clock {
        Ok(Some(rate)) if rate.is_wrong() => {
            let rate = Clock(rate);
            advice.push(format!("correct the clocks of this machine and of the servers: {rate}"));
        }
        Ok(_) => {}
        Err(ref reason) => advice.push(format!("find out why a node cannot be changed: {reason}")),
    }
    // A heartbeat is due every tenth of the session timeout.
    if found.writes.percentile(99) > found.granted / 10 {
        advice.push(
            "a write takes longer than the time between two heartbeats: find the slow disk or network".into(),
        );
    }
    advice
}

/// Returns the differences to look at.
fn notes(settings: &Settings, words: &Words, found: &Findings) -> Vec<String> {
    let ours = settings.tick_time;
    let note = match (words.time("tickTime"), found.shortest) {
        (Some(tick), _) if tick < ours => Some(format!(
            "tick_time is {ours:?} here and {tick:?} at the server: locks are lost that much earlier"
        )),
        (None, Some(shortest)) if shortest / 2 > ours => Some(format!(
            "tick_time is {ours:?} here, and the shortest session that the server grants is {shortest:?}, \
             which is two ticks unless minSessionTimeout is set: compare it with the server's tickTime"
        )),
        _ => None,
    };
    note.into_iter().collect()
}

/// Returns how far a server may be behind its leader. A server without an ensemble states nothing.
fn sync_limit(words: &Words, tick: Duration) -> Option<Duration> {
    let ticks: u32 = words.conf.get("syncLimit")?.parse().ok()?;
    tick.checked_mul(ticks).filter(|limit| !limit.is_zero())
}

/// Says which permissions the namespace must grant.
fn permissions(namespace: &Namespace) -> Option<String> {
    let Namespace { node, create, read, delete, .. } = namespace;
    let named = [(create, "create"), (read, "read"), (delete, "delete")];
    let denied = named.iter().filter(|(permission, _)| **permission == Permission::Denied);
    let denied: Vec<_> = denied.map(|(_, name)| *name).collect();
    let text = format!("permit this client to {} nodes at {node}", denied.join(", "));
    (!denied.is_empty()).then_some(text)
}

fn permission(permission: Permission) -> &'static str {
    match permission {
        Permission::Granted => "granted",
        Permission::Denied => "denied",
        Permission::Unknown => "unknown",
    }
}

fn container_words(containers: &Containers) -> String {
    match containers {
        Containers::Supported => "supported".to_owned(),
        Containers::Denied => "denied".to_owned(),
        Containers::Refused(reason) => format!("refused: {reason}"),
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { server, words, session, .. } = self;
        writeln!(f, "{server}")?;
        if let (Err(reason @ NoSession::Other(_)), None) = (session, &words.version) {
            return writeln!(f, "  session     none: {reason}");
        }
        let mut line = |name: &str, value: &dyn fmt::Display| writeln!(f, "  {name:<11} {value}");
        let unasked = || "unknown: no answer to `srvr`, which is not asked on an encrypted port".to_owned();
        let mode = words.mode.as_ref().map(|mode| format!(" ({mode})")).unwrap_or_default();
        line("version", &words.version.as_ref().map_or_else(unasked, |version| format!("{version}{mode}")))?;
        let tick = words.time("tickTime").map(|tick| format!("{tick:?}"));
        line(
            "tick time",
            &tick.unwrap_or_else(|| {
                "unknown: no answer to `conf`, which is not asked on an encrypted port".to_owned()
            }),
        )?;
        match session {
            Err(reason) => line("session", &format_args!("none: {reason}"))?,
            Ok(found) => {
                line("session", &format_args!("asked {:?}, granted {:?}", self.asked, found.granted))?;
                line("reads", &Trips(&found.reads))?;
                line("writes", &Trips(&found.writes))?;
                match &found.namespace {
                    Ok(Namespace { node, create, read, delete, containers }) => {
                        let [create, read, delete] = [create, read, delete].map(|one| permission(*one));
                        let access = format_args!("at {node}: create {create}, read {read}, delete {delete}");
                        line("access", &access)?;
                        line("containers", &container_words(containers))?;
                    }
                    Err(reason) => line("access", &format_args!("unknown: {reason}"))?,
                }
                match &found.clock {
                    Ok(Some(rate)) => line("clock", &Clock(*rate))?,
                    Ok(None) => {
                        line("clock", &"unknown: the round trips are too long, or nodes may not be created")?
                    }
                    Err(reason) => line("clock", &format_args!("unknown: {reason}"))?,
                }
            }
        }
        self.login().map_or(Ok(()), |login| line("login", login))?;
        self.notes.iter().try_for_each(|note| writeln!(f, "  to look at  {note}"))?;
        self.advice.iter().try_for_each(|advice| writeln!(f, "  to change   {advice}"))
    }
}

/// The rate of the servers' clock, as a text.
struct Clock(Rate);

impl fmt::Display for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(rate) = self;
        let word = match () {
            () if rate.is_wrong() => "beyond",
            () if rate.is_right() => "within",
            () => "perhaps beyond",
        };
        let (least, most, percent) = (rate.least, rate.most, TOLERANCE * 100.0);
        write!(
            f,
            "one second here is {least:.3} s to {most:.3} s of the servers, {word} the tolerance of {percent} %"
        )
    }
}

/// Round trips, as a text.
struct Trips<'a>(&'a RoundTrips);

impl fmt::Display for Trips<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [median, most, longest] = [50, 99, 100].map(|percent| self.0.percentile(percent));
        write!(f, "half within {median:.1?}, 99 % within {most:.1?}, all within {longest:.1?}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sync_limit_is_that_of_the_server_unless_it_is_nonsense() {
        let limit = |ticks: &str, tick| {
            let conf = [("syncLimit".to_owned(), ticks.to_owned())].into();
            sync_limit(&Words { conf, ..Words::default() }, tick)
        };
        assert_eq!(limit("5", Duration::from_secs(2)), Some(Duration::from_secs(10)));
        assert_eq!(limit("0", Duration::from_secs(2)), None);
        assert_eq!(limit(&u32::MAX.to_string(), Duration::MAX), None);
        assert_eq!(sync_limit(&Words::default(), Duration::from_secs(2)), None);
    }
}

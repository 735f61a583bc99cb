//! The attributes and their arguments in error messages, with suggestions for misspelled ones.

use syn::{Error, Ident};

/// An attribute that runs a function under a lock or a term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    DistributedLock,
    LeaderOnly,
}

impl Kind {
    /// Returns the value for this attribute.
    pub(crate) fn choose<T>(self, lock: T, leader: T) -> T {
        match self {
            Self::DistributedLock => lock,
            Self::LeaderOnly => leader,
        }
    }

    /// Returns the attribute as it is written.
    pub(crate) fn name(self) -> &'static str {
        self.choose("`#[distributed_lock]`", "`#[leader_only]`")
    }

    /// Returns the verb phrase for the step before the body.
    pub(crate) fn first(self) -> &'static str {
        self.choose("wait for a lock", "ask who leads")
    }

    /// Returns the verb phrase for running the body.
    pub(crate) fn then(self) -> &'static str {
        self.choose("run under the lock", "run as the leader")
    }
}

/// An argument or a value of zklock, and the words that other lock libraries use for it.
const SYNONYMS: [(&str, &[&str]); 11] = [
    ("path", &["key", "id", "lock", "resource", "node", "role", "election", "group"]),
    ("wait", &["timeout", "wait_for", "wait_timeout", "acquire_timeout", "max_wait"]),
    ("client", &["connection", "conn", "pool", "zk"]),
    ("guard", &["term", "held", "token"]),
    ("otherwise", &["else", "or_else", "default", "fallback", "on_contended"]),
    ("map_err", &["on_error", "error"]),
    ("no_wait", &["try_lock"]),
    ("permits", &["limit"]),
    ("mode", &["read"]),
    ("read", &["shared"]),
    ("cancel", &["drop"]),
];

/// Words, and the text about what zklock does instead.
const INSTEAD: [(&[&str], &str); 10] = [
    (
        &["lease", "lease_time", "lease_ms", "ttl", "expiry", "expires", "lock_at_most_for", "max_hold"],
        "nothing runs out while the body runs, however long that takes, so there is no lease to choose\n\
         `Config::session_timeout` is how long the locks of a process that has died stay taken",
    ),
    (
        &["lock_at_least_for", "min_hold", "hold_for", "cooldown"],
        "a lock is free as soon as the body has ended\n\
         `once_per = \"15m\"` keeps the body from starting again in the same period",
    ),
    (
        &["every", "interval", "cron", "schedule", "fixed_rate", "fixed_delay", "period", "once_every"],
        "an attribute does not call the function: a timer of yours does\n\
         `once_per = \"15m\"` lets the body start at most once per period in the whole fleet",
    ),
    (
        &["retry", "retries", "attempts", "tries", "max_attempts", "retry_delay", "backoff"],
        "a call waits in a queue, or returns at once, and does not try again and again\n\
         `wait = \"5s\"` bounds the wait",
    ),
    (
        &["renew", "auto_renew", "renewal", "refresh", "keep_alive", "heartbeat", "watchdog"],
        "the client proves that it is alive as long as it runs, so nothing has to be renewed",
    ),
    (
        &["fair", "fairness", "reentrant", "reentrancy"],
        "all locks are fair, and all but semaphores are reentrant within one call\n\
         `Client::exclusive` is a lock that is not reentrant",
    ),
    (
        &["namespace", "prefix", "root", "base_path", "chroot"],
        "the client has it: `Config::namespace(\"/billing\")` stands in front of all paths",
    ),
    (
        &["hosts", "servers", "connect", "connect_string", "url", "ensemble"],
        "the client has them: install it at start-up, or name one by `client = …`",
    ),
    (
        // Arguments of the other attribute.
        &["skip", "no_wait"],
        "a call of a replica that does not lead returns at once, without the body\n\
         `otherwise` gives its result, and `otherwise = wait` waits for the term",
    ),
    (
        &["session_timeout", "lock_timeout", "run_timeout", "max_duration", "deadline"],
        "`wait = \"5s\"` bounds the wait; a body that takes too long is ended by\n\
         `tokio::time::timeout` in it, and `Config::session_timeout` is a setting of the client",
    ),
];

/// Returns the error about the unknown argument `name` of an attribute that takes the arguments `known`.
pub(crate) fn unknown(name: &Ident, known: &[&str]) -> Error {
    let message = match instead(&name.to_string(), known) {
        Some(instead) => format!("there is no argument `{name}`\n{instead}"),
        None => {
            let (hint, known) = (hint(name, known), known.join("`, `"));
            format!("unknown argument `{name}`{hint}\nthe arguments are `{known}`")
        }
    };
    Error::new(name.span(), message)
}

/// Returns what to do in place of an argument of this name; `None` if it is in no list, or if the attribute has no path.
fn instead(word: &str, known: &[&str]) -> Option<&'static str> {
    let (_, text) = INSTEAD.iter().find(|(words, _)| words.contains(&word))?;
    known.contains(&"path").then_some(text)
}

/// Tells whether the argument `name` is, or most likely stands for, `argument`.
pub(crate) fn means(name: &str, argument: &str) -> bool {
    nearest(name, &[argument]).is_some()
}

/// Returns the question whether a known word was meant; empty if no known word is similar.
pub(crate) fn hint(name: &Ident, known: &[&str]) -> String {
    let meant = nearest(&name.to_string(), known);
    meant.map(|meant| format!(", did you mean `{meant}`?")).unwrap_or_default()
}

fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let synonym = SYNONYMS.iter().find(|(_, words)| words.contains(&name)).map(|(meant, _)| *meant);
    known.iter().copied().find(|other| Some(*other) == synonym).or_else(|| similar(name, known))
}

/// Returns the known word of which `name` may be a misspelling.
pub(crate) fn similar<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let close = known.iter().map(|other| (strsim::levenshtein(name, other), *other));
    close.filter(|(edits, other)| *edits <= other.len() / 2 && *edits <= 2).min().map(|(_, other)| other)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const KNOWN: [&str; 6] = ["path", "mode", "wait", "client", "guard", "crate"];

    #[test]
    fn a_slip_and_another_word_are_recognised_and_nothing_else_is_guessed() {
        let slips =
            [("waits", "wait"), ("wiat", "wait"), ("pth", "path"), ("clients", "client"), ("gaurd", "guard")];
        for (name, meant) in slips.into_iter().chain([("timeout", "wait"), ("key", "path")]) {
            assert_eq!(nearest(name, &KNOWN), Some(meant), "{name}");
        }
        assert_eq!(nearest("shared", &["read", "write"]), Some("read"));
        for name in ["skip", "ttl", "shared", "x"] {
            assert_eq!(nearest(name, &KNOWN), None, "{name}");
        }
    }

    #[test]
    fn an_argument_that_zklock_does_without_is_explained() {
        let error = |name| unknown(&syn::parse_str(name).unwrap(), &KNOWN).to_string();
        assert!(error("ttl").starts_with("there is no argument `ttl`\nnothing runs out while the body"));
        assert!(error("pth").starts_with("unknown argument `pth`, did you mean `path`?"));
    }

    const LOCK: [&str; 3] = ["path", "wait", "no_wait"];

    #[test]
    fn a_word_is_explained_once() {
        let words: Vec<_> = INSTEAD.iter().flat_map(|(words, _)| *words).collect();
        assert_eq!(words.iter().collect::<BTreeSet<_>>().len(), words.len());
        assert!(words.iter().all(|word| instead(word, &LOCK).is_some()));
        assert_eq!(instead("waits", &LOCK), None);
    }

    #[test]
    fn an_attribute_is_told_only_what_it_takes() {
        for word in ["retries", "deadline", "session_timeout"] {
            assert!(instead(word, &LOCK).unwrap().contains("`wait = \"5s\"` bounds the wait"));
        }
        assert_eq!(instead("retries", &["flavor", "session_timeout"]), None);
    }
}

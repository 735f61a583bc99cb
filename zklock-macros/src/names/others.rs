//! Words of other lock libraries for which zklock has no argument, and the reasons.

/// Words, and the text about what zklock does instead.
const INSTEAD: [(&[&str], &str); 9] = [
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
        "a call waits in a queue until the lock is its own, and does not try again and again\n\
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
        &["session_timeout", "lock_timeout", "run_timeout", "max_duration", "deadline"],
        "`wait = \"5s\"` bounds the wait for the lock; a body that takes too long is ended by\n\
         `tokio::time::timeout` in it, and `Config::session_timeout` is a setting of the client",
    ),
];

/// The texts for an attribute that waits only under `otherwise = wait`, by the first of the words.
const WITHOUT_WAIT: [(&str, &str); 2] = [
    (
        "retry",
        "a call on a replica that does not lead returns at once, and does not try again and again\n\
         `otherwise = wait, wait = \"5s\"` waits for leadership",
    ),
    (
        "session_timeout",
        "`otherwise = wait, wait = \"5s\"` bounds the wait for leadership; a body that takes too long is ended by\n\
         `tokio::time::timeout` in it, and `Config::session_timeout` is a setting of the client",
    ),
];

/// Returns what to do in place of an argument of this name, under an attribute that takes the arguments `known`; `None`
/// if it is in no list, or if the attribute takes no lock.
pub(super) fn instead(word: &str, known: &[&str]) -> Option<&'static str> {
    let (words, text) = INSTEAD.iter().find(|(words, _)| words.contains(&word))?;
    let waits = known.contains(&"no_wait");
    let other = WITHOUT_WAIT.iter().find(|(first, _)| !waits && words[0] == *first);
    known.contains(&"path").then_some(other.map_or(*text, |(_, text)| *text))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

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
            let leader = instead(word, &["path", "otherwise", "wait"]).unwrap();
            assert!(leader.contains("`otherwise = wait, wait = \"5s\"`"), "{leader}");
        }
        assert!(WITHOUT_WAIT.iter().all(|(first, _)| INSTEAD.iter().any(|(words, _)| words[0] == *first)));
        assert_eq!(instead("retries", &["flavor", "session_timeout"]), None);
    }
}

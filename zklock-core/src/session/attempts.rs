//! The servers in the connect string of the client library, which tries them in rounds.
//!
//! The library shuffles its entries when it has connected, and keeps that order while it connects again. It tries each
//! entry once without a pause. Before each later round it pauses for 100 ms per entry, at most 1 s, and twice as long
//! each time. Within a round, it pauses for 50 ms more from entry to entry. Random times come on top.
//!
//! * With few entries, the pauses between rounds become longer than what is left of a lease.
//! * The library may try a silent server as often in a row as it has entries, and each attempt takes long.

use std::time::Duration;

use super::clock::Terms;

/// Returns what is left of a lease right before the next heartbeat, without the time for an answer.
pub(super) fn left(terms: Terms) -> Duration {
    terms.term(terms.heartbeat_kind()).saturating_sub(terms.heartbeat() * 5 / 4)
}

/// Returns the servers, some of them several times, for leases of which this is left.
pub(super) fn list(servers: &str, lease: Duration) -> String {
    let servers: Vec<_> = servers.split(',').collect();
    let entries = entries(servers.len(), lease);
    servers.iter().copied().cycle().take(entries).collect::<Vec<_>>().join(",")
}

/// Returns the number of entries for this many servers: of those that keep attempts at silent servers few, the one with
/// the latest attempt at refusing servers within the lease.
pub(super) fn entries(servers: usize, lease: Duration) -> usize {
    let few = match servers {
        // It has no other to turn to. The pauses stay below 2.2 s for half a minute.
        1 => 24..=24,
        2 | 3 | 5 => servers..=6,
        4 => 4..=8,
        6 => 6..=7,
        more => more..=more,
    };
    few.max_by_key(|entries| last_within(lease, *entries)).unwrap_or(servers)
}

/// Returns the time of the last attempt within a lease, if all servers refuse, with average random times.
fn last_within(lease: Duration, entries: usize) -> Duration {
    times(entries, 0.5).take_while(|time| *time <= lease).last().unwrap_or_default()
}

/// Returns the times of the attempts at servers that refuse, with this share of the greatest random times.
fn times(entries: usize, random: f64) -> impl Iterator<Item = Duration> {
    let ms = Duration::from_millis;
    let later = (0..u32::BITS - 1).flat_map(move |round| {
        let first = (ms(100) * entries as u32).min(ms(1000)) * 2_u32.pow(round) + ms(100).mul_f64(random);
        let others = (1..entries as u32).map(move |entry| ms(50) * entry + ms(50).mul_f64(random));
        std::iter::once(first).chain(others)
    });
    std::iter::once(Duration::ZERO).chain(later).scan(Duration::ZERO, |time, pause| {
        *time += pause;
        Some(*time)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::clock::{Ack, Heartbeat};

    const SECOND: Duration = Duration::from_secs(1);

    /// The default terms of a session with this timeout, and what they leave of a lease.
    fn terms(timeout: Duration) -> (Terms, Duration) {
        let terms = Terms::new(timeout, (2 * SECOND, 10 * SECOND), Heartbeat::Write).unwrap();
        (terms, left(terms))
    }

    #[test]
    fn few_servers_have_several_entries() {
        let (_, lease) = terms(30 * SECOND);
        assert_eq!(list("a:1", lease), ["a:1"; 24].join(","));
        assert_eq!(list("a,b", lease), "a,b,a,b,a");
        assert_eq!(list("a,b,c", lease), "a,b,c,a,b");
        assert_eq!(list("a,b,c,d,e", lease), "a,b,c,d,e");
        assert_eq!(list("a,b,c", terms(40 * SECOND).1), "a,b,c,a,b,c");
    }

    /// Measured: a lock is lost if three servers, with six entries, refuse for 12.9 s.
    #[test]
    fn the_times_are_those_of_the_library() {
        let around = |entries, after: f64| {
            let mut times = times(entries, 0.5).map(|time| time.as_secs_f64());
            let next = times.find(|time| *time > after).unwrap();
            (next * 10.0).round() / 10.0
        };
        assert_eq!((around(6, 12.9), around(8, 19.0)), (22.4, 31.4));
    }

    #[test]
    fn a_lease_outlives_refusing_servers_with_the_default_settings() {
        let (terms, lease) = terms(30 * SECOND);
        for (servers, longest) in
            [(1, 180), (2, 179), (3, 179), (4, 179), (5, 179), (6, 147), (7, 147), (9, 117)]
        {
            for random in [0.0, 0.5, 1.0] {
                for outage in (0..=longest).map(|tenths| SECOND / 10 * tenths) {
                    let back = times(entries(servers, lease), random).find(|time| *time >= outage).unwrap();
                    // The last proof was sent a heartbeat before the outage. An answer takes a little time.
                    let needed = terms.heartbeat() + back + SECOND / 4;
                    assert!(needed <= terms.term(Ack::Write), "{servers} servers, {outage:?}: {needed:?}");
                }
            }
        }
    }

    #[test]
    fn the_pauses_before_attempts_at_one_server_are_short_during_a_lease() {
        for timeout in [6, 10, 20, 30, 40].map(Duration::from_secs) {
            let (_, lease) = terms(timeout);
            let times: Vec<_> = times(entries(1, lease), 1.0).take_while(|time| *time <= lease).collect();
            let longest = times.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap();
            assert!(longest < SECOND * 22 / 10, "{timeout:?}: {longest:?}");
        }
    }
}

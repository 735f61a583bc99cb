//! The metrics, with their units and descriptions. The guide has them in a table.

use metrics::{Unit, describe_counter, describe_gauge, describe_histogram};

pub(super) const ACQUISITIONS: &str = "zklock_acquisitions_total";
pub(super) const WAIT: &str = "zklock_wait_seconds";
pub(super) const HOLD: &str = "zklock_hold_seconds";
pub(super) const WAITING: &str = "zklock_waiting";
pub(super) const HELD: &str = "zklock_held";
pub(super) const LOSSES: &str = "zklock_losses_total";
pub(super) const HANDOFFS: &str = "zklock_handoffs_total";
pub(super) const TURNS: &str = "zklock_turns_total";
pub(super) const RELEASE_FAILURES: &str = "zklock_release_failures_total";
pub(super) const CANDIDATES: &str = "zklock_candidates";
pub(super) const LEADERS: &str = "zklock_leaders";
pub(super) const ELECTIONS: &str = "zklock_elections_total";
pub(super) const TERMS_ENDED: &str = "zklock_terms_ended_total";
pub(super) const ONCE_STARTS: &str = "zklock_once_starts_total";
pub(super) const ONCE_SKIPS: &str = "zklock_once_skips_total";
pub(super) const SESSION_STATE: &str = "zklock_session_state";
pub(super) const SESSIONS: &str = "zklock_sessions_total";
pub(super) const RECONNECTS: &str = "zklock_reconnects_total";
pub(super) const REQUESTS: &str = "zklock_requests_total";
pub(super) const LEASE_REMAINING: &str = "zklock_lease_remaining_seconds";
pub(super) const LEASE: &str = "zklock_lease_seconds";

const COUNTERS: [(&str, &str); 12] = [
    (ACQUISITIONS, "Calls that wanted a lock, by the end of their wait."),
    (LOSSES, "Locks that were lost while they were held, by the reason."),
    (HANDOFFS, "Locks that a call got from another call of its client, without a request."),
    (TURNS, "Nodes under which calls have held a lock, one after the other or together."),
    (RELEASE_FAILURES, "Locks that could not be released."),
    (ELECTIONS, "Elections that a candidate of this client won."),
    (TERMS_ENDED, "Terms of leaders that ended, by the reason."),
    (ONCE_STARTS, "Bodies under once_per that were started."),
    (ONCE_SKIPS, "Bodies under once_per that were not started, because their period had begun."),
    (SESSIONS, "Sessions that were opened."),
    (RECONNECTS, "Connections that were restored within a session."),
    (REQUESTS, "Requests to the servers, by whether they read or write."),
];

const GAUGES: [(&str, Unit, &str); 7] = [
    (WAITING, Unit::Count, "Calls that wait for a lock."),
    (HELD, Unit::Count, "Locks that calls hold."),
    (CANDIDATES, Unit::Count, "Candidates that stand in elections."),
    (LEADERS, Unit::Count, "Candidates that lead."),
    (SESSION_STATE, Unit::Count, "1 for the present state of the session, 0 for the others."),
    (LEASE_REMAINING, Unit::Seconds, "The time for which the held locks are certain to stay held."),
    (LEASE, Unit::Seconds, "The time for which held locks are certain to stay held after a heartbeat."),
];

const HISTOGRAMS: [(&str, &str); 2] = [
    (WAIT, "The time that calls waited for a lock which they acquired."),
    (HOLD, "The time that calls held a lock."),
];

/// Describes all metrics to the recorder.
pub(super) fn describe() {
    for (name, description) in COUNTERS {
        describe_counter!(name, Unit::Count, description);
    }
    for (name, unit, description) in GAUGES {
        describe_gauge!(name, unit, description);
    }
    for (name, description) in HISTOGRAMS {
        describe_histogram!(name, Unit::Seconds, description);
    }
}

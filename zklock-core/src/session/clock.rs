//! The lease clock: the instant up to which a session is certain to be alive, derived from the answers of
//! its server.
//!
//! ZooKeeper expires a session no earlier than its timeout `T` after the leader of the ensemble last heard
//! from it. If a request was answered, the leader heard from the session after the request was *sent*. Take
//! the send time of the last answered request, add `T`, and subtract the margins below: before that instant,
//! no other client can hold the locks of this session. Waiting for the client library to report `Expired`
//! would be too late, because it does so 1.4 `T` after it last heard from a server.
//!
//! * The rates of two clocks may differ by 1 %.
//! * A follower tells the leader within half a `tickTime` from which sessions it has heard. If the follower
//!   fails before it does so, the leader does not know of a session's last packet, but only of the one
//!   before. The margin therefore includes the longest silence between two packets of a running process. A
//!   longer gap, as after a pause, is counted in full (see [`LeaseClock::answered`]).
//! * A *read* is answered by one follower, which may have lost its leader up to the sync limit ago. A
//!   *write* is answered by a quorum. Reads therefore prove less, and have the larger margin.
//! * A twentieth of `T`, at most 500 ms, is subtracted as slack.
//!
//! The clock also counts the time during which the machine is suspended.

use std::time::Duration;

use crate::change::Mutex;
use crate::error::LockError;

use super::request_error::RequestError;

/// A reading of the clock of leases, which goes on while the machine is suspended.
pub(crate) use boot_time::Instant;

/// The requests by which a session that holds locks proves that it is alive.
///
/// A session without locks sends reads. Another setting than that of other clients is safe: it only
/// determines how long an outage a holder survives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize), serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Heartbeat {
    /// Writes that change nothing, which a quorum answers.
    ///
    /// With default settings, a lease proved by a write lasts 22.2 s, and survives the silence of any one
    /// server, the leader included. Each session that holds locks costs the ensemble one transaction every
    /// tenth of its timeout.
    #[default]
    Write,
    /// Reads, which a single server answers, as long as a lease that is proved by reads is long enough.
    ///
    /// With default settings, such a lease lasts 11.2 s. It survives the silence of the server that answers
    /// it, but not that of the leader, which takes the ensemble more than `syncLimit` to replace. If the
    /// session timeout is too short for reads, writes are sent.
    Read,
}

/// The kind of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ack {
    /// The answer of one server, which may have lost its leader.
    Read,
    /// The answer of a quorum.
    Write,
}

/// The times for which an answered request proves the session alive, counted from its send time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Terms {
    /// The timeout of the session.
    pub(crate) session: Duration,
    /// Zero if the margin uses up the whole session timeout.
    read: Duration,
    write: Duration,
    /// The longest time from one answer to the next request.
    pub(crate) heartbeat: Duration,
    /// The kind of request that keeps leases valid.
    pub(crate) heartbeat_kind: Ack,
    longest_silence: Duration,
    /// The time within which a follower tells the leader from which sessions it has heard.
    forwarding: Duration,
}

impl Terms {
    /// Derives the terms of a session from its negotiated timeout, the ensemble's timing and the preferred
    /// heartbeat.
    pub(crate) fn new(
        timeout: Duration,
        (tick, sync_limit): (Duration, Duration),
        preferred: Heartbeat,
    ) -> Result<Self, LockError> {
        let heartbeat = timeout / 10;
        // One heartbeat may be late by as much as its period. The client library pings more often than that:
        // it pings a session that has been idle for 3/8 of the time for which a server may be silent, and
        // checks for idle sessions every 1/8.
        let longest_silence = timeout / 5;
        let slack = (timeout / 20).min(Duration::from_millis(500));
        let forwarding = tick / 2;
        let without = |margin| (timeout * 99 / 100).saturating_sub(margin + longest_silence + slack);
        let (read, write) = (without(sync_limit + tick), without(forwarding));
        if write <= heartbeat * 2 {
            return Err(LockError::InvalidConfig {
                setting: "session_timeout",
                reason: format!(
                    "the server granted {timeout:?}, too short for a lease with a tick time of {tick:?}"
                ),
            });
        }
        let heartbeat_kind = match preferred {
            Heartbeat::Read if read > heartbeat * 3 => Ack::Read,
            _ => Ack::Write,
        };
        Ok(Self { session: timeout, read, write, heartbeat, heartbeat_kind, longest_silence, forwarding })
    }

    /// Returns how long an answer of this kind proves the session alive, or zero if it proves nothing.
    pub(crate) fn term(&self, ack: Ack) -> Duration {
        match ack {
            Ack::Read => self.read,
            Ack::Write => self.write,
        }
    }
}

/// The lease clock of a session, shared by all of its leases.
#[derive(Debug)]
pub(crate) struct LeaseClock(Mutex<State>);

/// What is known of the life of a session.
#[derive(Debug)]
struct State {
    /// Those of the present connection.
    terms: Terms,
    /// The instant up to which the session is certain to be alive.
    valid_until: Instant,
    /// The send time of the last answered request.
    last: Instant,
    /// A recent request. Only a request that was sent at least the forwarding time after its answer replaces it.
    recent: Exchange,
    /// The send time of the request before `recent`, which was certainly forwarded when `recent` was sent.
    forwarded: Instant,
}

/// One answered request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Exchange {
    sent: Instant,
    answered: Instant,
}

impl State {
    /// Takes note of an answer, which determines which contact the leader knows of.
    ///
    /// A follower forwards a contact within the forwarding time after it has handled the request, and that may be as late
    /// as the answer: a follower that stood still handles all waiting requests at once. A follower that was cut off from
    /// the leader answers reads meanwhile. It forwards them with its answer to the leader's ping, which comes before the
    /// commit of a later write on the same connection.
    fn note(&mut self, ack: Ack, exchange: Exchange) {
        self.last = self.last.max(exchange.sent);
        if exchange.sent >= self.recent.answered + self.terms.forwarding {
            self.forwarded = self.recent.sent;
            self.recent = exchange;
        }
        let known = exchange.sent.min(self.forwarded + self.terms.longest_silence);
        let term = self.terms.term(ack);
        if !term.is_zero() {
            self.valid_until = self.valid_until.max(known + term);
        }
    }
}

impl LeaseClock {
    /// Starts the clock of a session that has just been opened, by a request that was sent at `begun`.
    pub(crate) fn since(begun: Instant, terms: Terms) -> Self {
        // The leader itself opens sessions.
        let recent = Exchange { sent: begun, answered: Instant::now() };
        Self(Mutex::new(State { terms, valid_until: begun, last: begun, recent, forwarded: begun }))
    }

    pub(crate) fn terms(&self) -> Terms {
        self.0.lock().terms
    }

    /// Begins with another connection, by a request that was sent at `begun`. Its server has asked the leader for the
    /// session.
    ///
    /// The servers may have shortened the session. It ends that long after the request, if no other one follows.
    pub(super) fn reconnected(&self, begun: Instant, terms: Terms) {
        let mut state = self.0.lock();
        let earlier = std::mem::replace(&mut state.terms, terms);
        state.recent = Exchange { sent: begun, answered: Instant::now() };
        state.forwarded = begun;
        let is_shorter = terms.session < earlier.session;
        if is_shorter {
            state.valid_until = state.valid_until.min(begun + terms.term(terms.heartbeat_kind));
        }
        drop(state);
        if is_shorter {
            tracing::warn!(granted = ?terms.session, earlier = ?earlier.session, "the server grants a shorter session");
        }
    }

    /// Records the outcome of a request that was sent at `sent`, if a server certainly answered it.
    ///
    /// The leader may know only of requests that are old enough to have been forwarded. After a gap longer
    /// than the margin allows for, the term therefore does not start at `sent`. It starts at the contact
    /// before the gap, plus the silence that the margin allows for.
    pub(crate) fn answered<T>(&self, ack: Ack, sent: Instant, outcome: &Result<T, RequestError>) {
        if outcome.as_ref().err().is_none_or(RequestError::is_answer) {
            self.0.lock().note(ack, Exchange { sent, answered: Instant::now() });
        }
    }

    /// Returns how long ago the last answered request was sent.
    pub(crate) fn silence(&self) -> Duration {
        let last = self.0.lock().last;
        Instant::now().saturating_duration_since(last)
    }

    /// Returns whether the session is certain to be alive now.
    pub(crate) fn is_valid(&self) -> bool {
        !self.remaining().is_zero()
    }

    /// Returns how long the session is certain to stay alive.
    pub(crate) fn remaining(&self) -> Duration {
        let valid_until = self.0.lock().valid_until;
        valid_until.saturating_duration_since(Instant::now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl LeaseClock {
        /// Makes the clock run out. No later answer renews it.
        pub(crate) fn run_out(&self) {
            let mut state = self.0.lock();
            state.valid_until = state.last;
            (state.terms.read, state.terms.write) = (Duration::ZERO, Duration::ZERO);
        }
    }

    const OK: Result<(), RequestError> = Ok(());

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// A clock, and the instant from which its test counts milliseconds.
    struct Scene {
        clock: LeaseClock,
        origin: Instant,
    }

    impl Scene {
        fn new(timeout: u64, tick: u64, sync_limit: u64) -> Self {
            let origin = Instant::now();
            Self { clock: LeaseClock::since(origin, terms(timeout, tick, sync_limit)), origin }
        }

        fn at(&self, at: u64) -> Instant {
            self.origin + ms(at)
        }

        /// Records a request that was answered at once.
        fn heard(&self, ack: Ack, at: u64) {
            self.heard_late(ack, at, at);
        }

        fn heard_late(&self, ack: Ack, sent: u64, answered: u64) {
            self.clock.0.lock().note(ack, Exchange { sent: self.at(sent), answered: self.at(answered) });
        }

        fn valid_until(&self) -> Duration {
            self.clock.0.lock().valid_until.saturating_duration_since(self.origin)
        }
    }

    fn terms(timeout: u64, tick: u64, sync_limit: u64) -> Terms {
        Terms::new(ms(timeout), (ms(tick), ms(sync_limit)), Heartbeat::Write).unwrap()
    }

    #[test]
    fn the_default_lease_is_what_a_deposed_leader_leaves_of_thirty_seconds() {
        let terms = terms(30_000, 2_000, 10_000);
        assert_eq!(terms.read, ms(11_200));
        assert_eq!(terms.write, ms(22_200));
    }

    #[test]
    fn leases_are_proved_by_writes_unless_reads_are_preferred_and_suffice() {
        for (preferred, timeout, kind) in [
            (Heartbeat::Write, 30_000, Ack::Write),
            (Heartbeat::Read, 30_000, Ack::Read),
            (Heartbeat::Read, 6_000, Ack::Write),
        ] {
            let terms = Terms::new(ms(timeout), (ms(2_000), ms(10_000)), preferred).unwrap();
            assert_eq!(terms.heartbeat_kind, kind, "{preferred:?} {timeout}");
        }
    }

    #[test]
    fn a_short_session_is_kept_by_writes() {
        let terms = terms(6_000, 2_000, 10_000);
        assert_eq!(terms.read, Duration::ZERO);
        assert_eq!(terms.write, ms(3_440));
    }

    #[test]
    fn a_session_that_leaves_no_lease_is_refused() {
        let terms = |timeout, tick| Terms::new(ms(timeout), (ms(tick), ms(10_000)), Heartbeat::Write);
        let error = terms(1_000, 2_000).unwrap_err();
        assert!(error.to_string().contains("the server granted 1s"), "{error}");
        assert!(terms(0, 0).is_err());
    }

    #[test]
    fn the_lease_counts_from_the_send_time_and_never_goes_back() {
        let scene = Scene::new(30_000, 2_000, 10_000);
        assert!(scene.clock.remaining().is_zero() && !scene.clock.is_valid());
        scene.heard(Ack::Write, 500);
        assert!(!scene.clock.remaining().is_zero() && scene.clock.is_valid());
        assert_eq!(scene.valid_until(), ms(22_700));
        scene.heard(Ack::Read, 5_000);
        assert_eq!(scene.valid_until(), ms(22_700));
        for at in [8_000, 11_000, 14_000, 17_000, 20_000] {
            scene.heard(Ack::Read, at);
        }
        assert_eq!(scene.valid_until(), ms(31_200));
    }

    #[test]
    fn reads_prove_nothing_where_the_sync_limit_exceeds_the_session() {
        let scene = Scene::new(6_000, 2_000, 10_000);
        scene.heard(Ack::Read, 1_000);
        assert_eq!(scene.valid_until(), Duration::ZERO);
    }

    #[test]
    fn only_what_a_server_answered_counts() {
        let scene = Scene::new(30_000, 2_000, 10_000);
        for error in [
            RequestError::Unknown("reset".into()),
            RequestError::SessionOver,
            RequestError::Refused(crate::error::Refusal::Other("bad arguments".into())),
        ] {
            scene.clock.answered(Ack::Write, scene.at(500), &Err::<(), _>(error));
        }
        assert_eq!(scene.valid_until(), Duration::ZERO);
        scene.clock.answered(Ack::Write, scene.at(500), &Err::<(), _>(RequestError::NoNode));
        assert_eq!(scene.valid_until(), ms(22_700));
    }

    #[test]
    fn dense_answers_keep_the_lease_at_its_full_length() {
        let scene = Scene::new(30_000, 2_000, 10_000);
        for at in (0..60_000).step_by(10) {
            scene.heard(Ack::Write, at);
            assert_eq!(scene.valid_until(), ms(at + 22_200));
        }
    }

    #[test]
    fn after_a_long_gap_the_lease_counts_from_the_contact_before_it() {
        let scene = Scene::new(30_000, 2_000, 10_000);
        scene.heard(Ack::Write, 20_000);
        assert_eq!(scene.valid_until(), ms(28_200));
        scene.heard(Ack::Write, 20_005);
        assert_eq!(scene.valid_until(), ms(28_200), "nothing was forwarded in five milliseconds");
        scene.heard(Ack::Write, 21_000);
        assert_eq!(scene.valid_until(), ms(43_200));
    }

    #[test]
    fn a_lock_that_an_idle_session_takes_after_a_pause_ends_before_the_session_can() {
        let scene = Scene::new(30_000, 2_000, 10_000);
        for at in [1_000, 4_000, 7_000, 10_000] {
            scene.heard(Ack::Read, at);
        }
        // The process stands still. Its follower answers the create of a lock, and fails before it tells the leader, which
        // ends the session 30 s after the contact that it knows of.
        scene.heard(Ack::Write, 25_000);
        assert_eq!(scene.valid_until(), ms(10_000 + 6_000 + 22_200));
    }

    #[test]
    fn answers_that_a_follower_gave_late_are_not_known_to_be_forwarded() {
        let scene = Scene::new(30_000, 2_000, 10_000);
        scene.heard(Ack::Write, 0);
        // The follower stands still, and answers all requests at once when it goes on.
        for sent in [3_000, 6_000, 9_000, 11_000] {
            scene.heard_late(Ack::Write, sent, 11_500);
        }
        // The leader may know of the first contact only, and ends the session 30 s after it.
        assert_eq!(scene.valid_until(), ms(28_200));
        scene.heard(Ack::Write, 12_000);
        assert_eq!(scene.valid_until(), ms(28_200), "nothing was forwarded in half a second");
        scene.heard(Ack::Write, 12_500);
        assert_eq!(scene.valid_until(), ms(31_200), "the request of 3 s was forwarded");
        scene.heard(Ack::Write, 13_500);
        assert_eq!(scene.valid_until(), ms(35_700));
    }

    #[test]
    fn a_shorter_session_ends_the_lease_that_was_proved_in_a_longer_one() {
        let scene = Scene::new(30_000, 2_000, 10_000);
        scene.heard(Ack::Write, 0);
        let shorter = terms(10_000, 500, 2_000);
        scene.clock.reconnected(scene.at(5_000), shorter);
        assert_eq!(scene.clock.terms().session, ms(10_000));
        assert_eq!(scene.valid_until(), ms(5_000) + shorter.write);
        scene.clock.reconnected(scene.at(5_000), terms(30_000, 2_000, 10_000));
        assert_eq!(scene.valid_until(), ms(5_000) + shorter.write, "nothing was proved");
    }

    #[test]
    fn a_reconnect_is_a_contact_of_which_the_leader_knows() {
        let scene = Scene::new(30_000, 2_000, 10_000);
        scene.clock.reconnected(scene.at(20_000), terms(30_000, 2_000, 10_000));
        scene.heard(Ack::Write, 20_000);
        assert_eq!(scene.valid_until(), ms(42_200));
    }

    #[test]
    fn silence_counts_from_the_last_answered_request() {
        let clock = Scene::new(30_000, 2_000, 10_000).clock;
        let sent = Instant::now();
        clock.answered(Ack::Write, sent, &OK);
        let silence = clock.silence();
        assert!(silence > Duration::ZERO && silence <= sent.elapsed());
    }
}

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

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use boot_time::Instant;

use crate::error::LockError;

use super::request_error::RequestError;

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
    session: Duration,
    /// `None` if the margin uses up the whole session timeout.
    read: Option<Duration>,
    write: Duration,
    heartbeat: Duration,
    heartbeat_kind: Ack,
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
        let sure = timeout * 99 / 100;
        let forwarding = tick / 2;
        let write_margin = forwarding + longest_silence + slack;
        let read_margin = sync_limit + tick + longest_silence + slack;
        match sure.checked_sub(write_margin) {
            Some(write) if write > heartbeat * 2 => {
                let read = sure.checked_sub(read_margin);
                let heartbeat_kind = match (preferred, read) {
                    (Heartbeat::Read, Some(read)) if read > heartbeat * 3 => Ack::Read,
                    _ => Ack::Write,
                };
                Ok(Self {
                    session: timeout,
                    read,
                    write,
                    heartbeat,
                    heartbeat_kind,
                    longest_silence,
                    forwarding,
                })
            }
            _ => Err(LockError::InvalidConfig {
                setting: "session_timeout",
                reason: format!(
                    "the server granted {timeout:?}, too short for a lease with a tick time of {tick:?}"
                ),
            }),
        }
    }

    /// Returns the timeout of the session.
    pub(crate) fn session(&self) -> Duration {
        self.session
    }

    pub(crate) fn heartbeat(&self) -> Duration {
        self.heartbeat
    }

    /// Returns the kind of request that keeps leases valid.
    pub(crate) fn heartbeat_kind(&self) -> Ack {
        self.heartbeat_kind
    }

    /// Returns how long an answer of this kind proves the session alive, or zero if it proves nothing.
    pub(crate) fn term(&self, ack: Ack) -> Duration {
        match ack {
            Ack::Read => self.read.unwrap_or_default(),
            Ack::Write => self.write,
        }
    }
}

/// A reading of the clock of leases, which goes on while the machine is suspended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin(Instant);

impl Origin {
    pub(crate) fn now() -> Self {
        Self(Instant::now())
    }

    /// Returns the nanoseconds from an earlier reading to this one. There are none if the clock has gone back, as in a process
    /// that is restored from a checkpoint on another machine.
    fn since(self, earlier: Self) -> u64 {
        // 64 bits of nanoseconds are 584 years.
        self.0.saturating_duration_since(earlier.0).as_nanos() as u64
    }

    /// Returns the nanoseconds since then.
    fn elapsed(self) -> u64 {
        Self::now().since(self)
    }
}

/// An instant on the clock of one session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(Duration);

impl Moment {
    pub(crate) fn saturating_since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}

/// The lease clock of a session, shared by all of its leases.
#[derive(Debug)]
pub(crate) struct LeaseClock {
    /// Those of the present connection.
    terms: Mutex<Terms>,
    origin: Origin,
    /// The instant up to which the session is certain to be alive, in nanoseconds after the origin.
    valid_until: AtomicU64,
    contact: Mutex<Contact>,
}

/// One answered request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exchange {
    sent: Moment,
    answered: Moment,
}

/// The answered requests that determine which contact the leader knows of.
///
/// A follower forwards a contact within the forwarding time after it has handled the request, and that may be as late as
/// the answer: a follower that stood still handles all waiting requests at once. A follower that was cut off from the leader
/// answers reads meanwhile. It forwards them with its answer to the leader's ping, which comes before the commit of a later
/// write on the same connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Contact {
    /// The send time of the last answered request.
    last: Moment,
    /// A recent request. Only a request that was sent at least the forwarding time after its answer replaces it.
    recent: Exchange,
    /// The send time of the request before `recent`, which was certainly forwarded when `recent` was sent.
    forwarded: Moment,
}

impl Contact {
    fn note(&mut self, exchange: Exchange, forwarding: Duration) {
        self.last = self.last.max(exchange.sent);
        if exchange.sent.0 >= self.recent.answered.0 + forwarding {
            self.forwarded = self.recent.sent;
            self.recent = exchange;
        }
    }
}

impl LeaseClock {
    /// Starts the clock of a session that has just been opened, by a request that was sent at `origin`.
    pub(crate) fn since(origin: Origin, terms: Terms) -> Self {
        let sent = Moment(Duration::ZERO);
        let answered = Moment(Duration::from_nanos(origin.elapsed()));
        // The leader itself opens sessions.
        let contact = Contact { last: sent, recent: Exchange { sent, answered }, forwarded: sent };
        Self {
            terms: Mutex::new(terms),
            origin,
            valid_until: AtomicU64::new(0),
            contact: Mutex::new(contact),
        }
    }

    pub(crate) fn terms(&self) -> Terms {
        *self.terms.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins with another connection, by a request that was sent at `begun`. Its server has asked the leader for the
    /// session.
    ///
    /// The servers may have shortened the session. It ends that long after the request, if no other one follows.
    pub(super) fn reconnected(&self, begun: Origin, terms: Terms) {
        let (sent, answered) = (self.at(begun), self.now());
        let earlier =
            std::mem::replace(&mut *self.terms.lock().unwrap_or_else(PoisonError::into_inner), terms);
        let mut contact = self.contact();
        (contact.recent, contact.forwarded) = (Exchange { sent, answered }, sent);
        drop(contact);
        if terms.session < earlier.session {
            tracing::warn!(granted = ?terms.session, earlier = ?earlier.session, "the server grants a shorter session");
            let until = (sent.0 + terms.term(terms.heartbeat_kind)).as_nanos() as u64;
            self.valid_until.fetch_min(until, Ordering::AcqRel);
        }
    }

    /// Returns the time of an earlier reading of the clock.
    pub(super) fn at(&self, reading: Origin) -> Moment {
        Moment(Duration::from_nanos(reading.since(self.origin)))
    }

    pub(crate) fn now(&self) -> Moment {
        Moment(Duration::from_nanos(self.origin.elapsed()))
    }

    /// Records the outcome of a request that was sent at `sent`, if a server certainly answered it.
    ///
    /// The leader may know only of requests that are old enough to have been forwarded. After a gap longer
    /// than the margin allows for, the term therefore does not start at `sent`. It starts at the contact
    /// before the gap, plus the silence that the margin allows for.
    pub(crate) fn answered<T>(&self, ack: Ack, sent: Moment, outcome: &Result<T, RequestError>) {
        if outcome.as_ref().err().is_none_or(RequestError::is_answer) {
            self.heard(ack, Exchange { sent, answered: self.now() });
        }
    }

    fn heard(&self, ack: Ack, exchange: Exchange) {
        let (terms, mut contact) = (self.terms(), self.contact());
        contact.note(exchange, terms.forwarding);
        let known = exchange.sent.min(Moment(contact.forwarded.0 + terms.longest_silence));
        let term = terms.term(ack);
        if !term.is_zero() {
            // 64 bits of nanoseconds are 584 years, and no session lives that long.
            let until = (known.0 + term).as_nanos() as u64;
            self.valid_until.fetch_max(until, Ordering::AcqRel);
        }
    }

    /// Returns how long ago the last answered request was sent.
    pub(crate) fn silence(&self) -> Duration {
        let last = self.contact().last;
        self.now().saturating_since(last)
    }

    fn contact(&self) -> MutexGuard<'_, Contact> {
        self.contact.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the instant from which the session is no longer certain to be alive.
    pub(crate) fn valid_until(&self) -> Moment {
        Moment(Duration::from_nanos(self.valid_until.load(Ordering::Acquire)))
    }

    /// Returns whether the session is certain to be alive now.
    ///
    /// Each step of a body under a lock asks for it, so it compares nanoseconds, and makes no durations.
    #[inline]
    pub(crate) fn is_valid(&self) -> bool {
        self.origin.elapsed() < self.valid_until.load(Ordering::Acquire)
    }

    /// Makes the clock run out. No answer renews it until the returned value is dropped.
    #[cfg(test)]
    pub(crate) fn run_out(&self) -> impl Sized + '_ {
        let contact = self.contact();
        self.valid_until.store(0, Ordering::Release);
        contact
    }

    /// Returns how long the session is certain to stay alive.
    pub(crate) fn remaining(&self) -> Duration {
        self.valid_until().saturating_since(self.now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OK: Result<(), RequestError> = Ok(());

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// Records a request that was answered at once, in milliseconds.
    fn heard(clock: &LeaseClock, ack: Ack, at: u64) {
        heard_late(clock, ack, at, at);
    }

    fn heard_late(clock: &LeaseClock, ack: Ack, sent: u64, answered: u64) {
        clock.heard(ack, Exchange { sent: Moment(ms(sent)), answered: Moment(ms(answered)) });
    }

    fn clock(timeout: u64, tick: u64, sync_limit: u64) -> LeaseClock {
        LeaseClock::since(Origin::now(), terms(timeout, tick, sync_limit))
    }

    fn terms(timeout: u64, tick: u64, sync_limit: u64) -> Terms {
        Terms::new(ms(timeout), (ms(tick), ms(sync_limit)), Heartbeat::Write).unwrap()
    }

    #[test]
    fn the_default_lease_is_what_a_deposed_leader_leaves_of_thirty_seconds() {
        let terms = terms(30_000, 2_000, 10_000);
        assert_eq!(terms.read, Some(ms(11_200)));
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
            assert_eq!(terms.heartbeat_kind(), kind, "{preferred:?} {timeout}");
        }
    }

    #[test]
    fn a_short_session_is_kept_by_writes() {
        let terms = terms(6_000, 2_000, 10_000);
        assert_eq!(terms.read, None);
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
        let clock = clock(30_000, 2_000, 10_000);
        assert!(clock.remaining().is_zero() && !clock.is_valid());
        heard(&clock, Ack::Write, 500);
        assert!(!clock.remaining().is_zero() && clock.is_valid());
        assert_eq!(clock.valid_until(), Moment(ms(22_700)));
        heard(&clock, Ack::Read, 5_000);
        assert_eq!(clock.valid_until(), Moment(ms(22_700)));
        for at in [8_000, 11_000, 14_000, 17_000, 20_000] {
            heard(&clock, Ack::Read, at);
        }
        assert_eq!(clock.valid_until(), Moment(ms(31_200)));
    }

    #[test]
    fn reads_prove_nothing_where_the_sync_limit_exceeds_the_session() {
        let clock = clock(6_000, 2_000, 10_000);
        heard(&clock, Ack::Read, 1_000);
        assert_eq!(clock.valid_until(), Moment(Duration::ZERO));
    }

    #[test]
    fn only_what_a_server_answered_counts() {
        let clock = clock(30_000, 2_000, 10_000);
        for error in [
            RequestError::Unknown("reset".into()),
            RequestError::SessionOver,
            RequestError::Refused(crate::error::Refusal::Other("bad arguments".into())),
        ] {
            clock.answered(Ack::Write, Moment(ms(500)), &Err::<(), _>(error));
        }
        assert_eq!(clock.valid_until(), Moment(Duration::ZERO));
        clock.answered(Ack::Write, Moment(ms(500)), &Err::<(), _>(RequestError::NoNode));
        assert_eq!(clock.valid_until(), Moment(ms(22_700)));
    }

    #[test]
    fn dense_answers_keep_the_lease_at_its_full_length() {
        let clock = clock(30_000, 2_000, 10_000);
        for at in (0..60_000).step_by(10) {
            heard(&clock, Ack::Write, at);
            assert_eq!(clock.valid_until(), Moment(ms(at + 22_200)));
        }
    }

    #[test]
    fn after_a_long_gap_the_lease_counts_from_the_contact_before_it() {
        let clock = clock(30_000, 2_000, 10_000);
        heard(&clock, Ack::Write, 20_000);
        assert_eq!(clock.valid_until(), Moment(ms(28_200)));
        heard(&clock, Ack::Write, 20_005);
        assert_eq!(clock.valid_until(), Moment(ms(28_200)), "nothing was forwarded in five milliseconds");
        heard(&clock, Ack::Write, 21_000);
        assert_eq!(clock.valid_until(), Moment(ms(43_200)));
    }

    #[test]
    fn a_lock_that_an_idle_session_takes_after_a_pause_ends_before_the_session_can() {
        let clock = clock(30_000, 2_000, 10_000);
        for at in [1_000, 4_000, 7_000, 10_000] {
            heard(&clock, Ack::Read, at);
        }
        // The process stands still. Its follower answers the create of a lock, and fails before it tells the leader, which
        // ends the session 30 s after the contact that it knows of.
        heard(&clock, Ack::Write, 25_000);
        assert_eq!(clock.valid_until(), Moment(ms(10_000 + 6_000 + 22_200)));
    }

    #[test]
    fn answers_that_a_follower_gave_late_are_not_known_to_be_forwarded() {
        let clock = clock(30_000, 2_000, 10_000);
        heard(&clock, Ack::Write, 0);
        // The follower stands still, and answers all requests at once when it goes on.
        for sent in [3_000, 6_000, 9_000, 11_000] {
            heard_late(&clock, Ack::Write, sent, 11_500);
        }
        // The leader may know of the first contact only, and ends the session 30 s after it.
        assert_eq!(clock.valid_until(), Moment(ms(28_200)));
        heard(&clock, Ack::Write, 12_000);
        assert_eq!(clock.valid_until(), Moment(ms(28_200)), "nothing was forwarded in half a second");
        heard(&clock, Ack::Write, 12_500);
        assert_eq!(clock.valid_until(), Moment(ms(31_200)), "the request of 3 s was forwarded");
        heard(&clock, Ack::Write, 13_500);
        assert_eq!(clock.valid_until(), Moment(ms(35_700)));
    }

    #[test]
    fn a_shorter_session_ends_the_lease_that_was_proved_in_a_longer_one() {
        let clock = clock(30_000, 2_000, 10_000);
        heard(&clock, Ack::Write, 0);
        let begun = Origin::now();
        let at = clock.at(begun);
        clock.reconnected(begun, terms(10_000, 500, 2_000));
        assert_eq!(clock.terms().session(), ms(10_000));
        assert_eq!(clock.valid_until(), Moment(at.0 + clock.terms().term(Ack::Write)));
        clock.reconnected(begun, terms(30_000, 2_000, 10_000));
        assert_eq!(clock.valid_until(), Moment(at.0 + terms(10_000, 500, 2_000).write), "nothing was proved");
    }

    #[test]
    fn a_reconnect_is_a_contact_of_which_the_leader_knows() {
        let clock = clock(30_000, 2_000, 10_000);
        let begun = Origin::now();
        let at = clock.at(begun);
        clock.reconnected(begun, terms(30_000, 2_000, 10_000));
        clock.heard(Ack::Write, Exchange { sent: at, answered: at });
        assert_eq!(clock.valid_until(), Moment(at.0 + ms(22_200)));
    }

    #[test]
    fn silence_counts_from_the_last_answered_request() {
        let clock = clock(30_000, 2_000, 10_000);
        let sent = clock.now();
        clock.answered(Ack::Write, sent, &OK);
        let silence = clock.silence();
        assert!(silence > Duration::ZERO && silence <= clock.now().saturating_since(sent));
    }
}

//! Opens a session, or tells why not, and keeps it by one connection after the other: sends its heartbeats, and ends its leases
//! when the lease clock runs out.
//!
//! All addresses are tried in random order, each within the time for which a server may be silent. That of the connection
//! before comes last: a silent server costs no time then, and gets no request that it could answer late (`drive::entering`).
//! A pause of half a second to a second follows each round, or a shorter one in short sessions, so that a lease survives as
//! long an outage as possible.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use zookeeper_client as zk;

use crate::error::LockError;
use crate::tasks::Tasks;
use crate::time::{sleep, timeout};

use super::clock::{Ack, Heartbeat, Instant, LeaseClock, Terms};
use super::counts::Tally;
use super::requests::{self, Channel, Requests};
use super::{CLOSE_WITHIN, Session};
use crate::connection::addresses::{Addresses, Target};
use crate::connection::diagnose::Diagnosis;
use crate::connection::security::{NodeAcls, Security};
use crate::connection::{Connection, OpenError};

/// The settings with which a session is opened.
#[derive(Clone)]
pub(crate) struct Opening {
    /// The servers of the connect string, without the chroot.
    pub(crate) servers: String,
    pub(crate) addresses: Addresses,
    pub(crate) timeout: Duration,
    /// How long a server may be silent, for each length of a session.
    pub(crate) silence: Silence,
    pub(crate) tick: Duration,
    pub(crate) sync_limit: Duration,
    pub(crate) heartbeat: Heartbeat,
    pub(crate) security: Security,
    pub(crate) acls: NodeAcls,
    pub(crate) tally: Arc<Tally>,
    /// How long to look for the reason why a server opens no session.
    pub(crate) diagnose_within: Duration,
    pub(crate) diagnosis: Diagnosis,
}

/// How long a server may be silent before the client turns to another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Silence {
    Fixed(Duration),
    /// A twelfth of the session timeout, such that several attempts fit into this time to connect.
    ForConnecting(Duration),
}

impl Silence {
    /// Returns how long a server may be silent in a session with this timeout.
    ///
    /// The twelfth is short enough for a lease that was proved right before a server fell silent to be proved
    /// on another one, after attempts at other silent servers: see the tests.
    pub(crate) fn of(self, session: Duration) -> Duration {
        match self {
            // The servers may have granted a shorter session than the one that the setting was made for.
            Self::Fixed(silence) => silence.min(session * 2 / 5),
            Self::ForConnecting(within) => {
                // Shorter stalls of busy machines must not break connections.
                let shortest = Duration::from_millis(500).min(session * 2 / 5);
                (session / 12).min(within / 4).max(shortest)
            }
        }
    }
}

impl Opening {
    /// Looks at each server once, if no session has been opened for some time. Never returns otherwise.
    ///
    /// The library may try servers that do not answer for longer than callers wait.
    pub(crate) async fn reason_of_delay(&self) -> OpenError {
        sleep(self.diagnose_within).await;
        match self.diagnosed().await {
            Some(reason) => reason,
            None => pending().await,
        }
    }

    async fn diagnosed(&self) -> Option<OpenError> {
        self.diagnosis.of(&self.servers, self.security.certificates(), self.diagnose_within).await
    }

    fn terms(&self, timeout: Duration) -> Result<Terms, LockError> {
        Terms::new(timeout, (self.tick, self.sync_limit), self.heartbeat)
    }

    /// Returns the error for a caller that waited this long for a session.
    pub(crate) fn failure(&self, error: &OpenError, waited: Duration) -> LockError {
        let endpoints = self.servers.clone();
        match error {
            OpenError::Unreachable(_) | OpenError::Expired => {
                LockError::Connect { endpoints, waited, reason: error.to_string() }
            }
            OpenError::AuthFailed => LockError::AuthFailed { endpoints },
            #[cfg(feature = "tls")]
            OpenError::Untrusted(reason) => LockError::Tls { endpoints, reason: reason.clone() },
            OpenError::Invalid(error) => error.clone(),
        }
    }

    /// Opens a session, whose tasks are among those of its client.
    pub(crate) async fn open(&self, tasks: &Tasks) -> Result<Arc<Session>, OpenError> {
        let silence = self.silence.of(self.timeout);
        let mut first = match self.connect(None, silence).await {
            // The library does not tell the reason of each server. A name service that hangs must not hide it for long.
            Err(OpenError::Unreachable(reason)) => {
                let found = timeout(self.diagnose_within * 2, self.diagnosed()).await.ok().flatten();
                return Err(found.unwrap_or(OpenError::Unreachable(reason)));
            }
            first => first?,
        };
        let terms = self.terms(first.timeout()).map_err(OpenError::Invalid)?;
        let clock = LeaseClock::since(first.begun, terms);
        let silence = self.silence.of(first.timeout());
        if silence < self.silence.of(self.timeout) {
            // The servers granted less, so that a silent one has to be given up earlier.
            let (info, server) = (first.live().session().clone(), first.server.clone());
            drop(first);
            let known = Known { info: &info, server: &server, clock: &clock, number: 2 };
            first = self.connect(Some(known), silence).await?;
        }
        let granted = first.timeout();
        if granted.as_millis() != self.timeout.as_millis() {
            tracing::warn!(
                asked = ?self.timeout,
                ?granted,
                "the servers grant another session timeout: ask for this one, or change their limits"
            );
        }
        let live = first.live().clone();
        let (id, number) = (live.session_id().0, live.number);
        let requests = Requests::new(Channel::Open(live), clock, self.acls.clone(), self.tally.clone());
        requests.note_fence(first.fenced);
        let session = Session::new(id, number, requests, tasks.clone());
        self.tally.sessions.add_one();
        tracing::info!(session = format_args!("{:#x}", session.id), "session opened");
        session.spawn(keep(session.clone(), self.clone(), first));
        session.spawn(keep_proved(session.clone()));
        session.spawn(watch_end(session.clone()));
        Ok(session)
    }

    /// Tries each address once, in random order with that of the last connection at the end, until one of them accepts the
    /// session. Without a known session, a new one is opened.
    async fn connect(&self, known: Option<Known<'_>>, silence: Duration) -> Result<Connection, OpenError> {
        let connector = zk::Client::connector()
            .with_session_timeout(self.timeout)
            .with_connection_timeout(silence)
            .with_fail_eagerly();
        let connector = self.security.equip(connector).await;
        let (mut refusal, mut failure) = (None, None);
        let mut targets = self.addresses.shuffled(silence).await;
        targets.sort_by_key(|target| known.is_some_and(|known| known.server == target.address));
        for target in targets {
            let attempt = self.attempt(connector.clone(), &target, known);
            let attempt = match known {
                // One that is given up opens no session, so that there may be many of them.
                Some(_) => timeout(silence, attempt).await.unwrap_or_else(|_| Err(zk::Error::Timeout.into())),
                None => attempt.await,
            };
            match attempt {
                Ok(opened) => return Ok(opened),
                Err(error @ (OpenError::Expired | OpenError::Invalid(_))) => return Err(error),
                // Another server may accept what this one refuses.
                Err(error @ OpenError::AuthFailed) => refusal = Some(error),
                Err(error) => failure = Some(error),
            }
        }
        // A refusal of the credentials is the better reason. A known session goes on as long as a server has not answered.
        let of_all = refusal.filter(|_| known.is_none() || failure.is_none());
        Err(of_all.or(failure).unwrap_or_else(|| zk::Error::NoHosts.into()))
    }

    /// Connects to one address, and has the server catch up, so that it answers nothing that is older.
    async fn attempt(
        &self,
        connector: zk::Connector,
        target: &Target,
        known: Option<Known<'_>>,
    ) -> Result<Connection, OpenError> {
        let (connector, number) = match known {
            Some(known) => (connector.with_session(known.info.clone()), known.number),
            None => (connector, 1),
        };
        let mut connection = self.security.connect(connector, target, number).await?;
        if known.is_some_and(|known| known.info.id() != connection.live().session_id()) {
            tracing::warn!("the server replaced the session by another one");
            return Err(OpenError::Expired);
        }
        if let Some(Known { clock, .. }) = known {
            let terms = self.terms(connection.live().session_timeout()).map_err(OpenError::Invalid)?;
            // A shorter session counts from now on, whether or not the fence is answered.
            clock.reconnected(connection.begun, terms);
        }
        connection.fenced = Instant::now();
        // The handle ends with the request, because a session is closed when its last one is gone.
        let live = connection.live().clone();
        let fence = connection.answer(async move { requests::fence(&live).await });
        if !matches!(timeout(self.timeout / 3, fence).await, Ok(Some(Ok(())))) {
            return Err(zk::Error::Timeout.into());
        }
        if known.is_none() && !self.security.is_logged_in(&mut connection).await {
            timeout(CLOSE_WITHIN, connection.close()).await.ok();
            return Err(OpenError::AuthFailed);
        }
        Ok(connection)
    }
}

/// Keeps the session until it is over.
async fn keep(session: Arc<Session>, opening: Opening, first: Connection) {
    let _closed = session.closed.clone().drop_guard();
    let closing = async {
        session.requests.closed().await;
        sleep(CLOSE_WITHIN).await;
    };
    tokio::select! {
        biased;
        () = opening.keep_connected(&session, first) => {}
        () = closing => tracing::warn!("the session was not closed in time; it ends when its timeout expires"),
    }
    session.give_up();
    tracing::info!("session ended");
}

/// A session that is to be kept.
#[derive(Clone, Copy)]
struct Known<'a> {
    info: &'a zk::SessionInfo,
    /// The server of its last connection.
    server: &'a str,
    clock: &'a LeaseClock,
    /// The number of its next connection.
    number: u64,
}

impl Opening {
    /// Goes on with one connection after the other.
    async fn keep_connected(&self, session: &Session, mut connection: Connection) {
        loop {
            let (info, server) = (connection.live().session().clone(), connection.server.clone());
            tokio::select! {
                biased;
                () = connection.over() => {
                    session.disconnect();
                    drop(connection);
                }
                () = session.requests.closed() => {
                    if connection.close().await {
                        return;
                    }
                }
            }
            let Some(next) = self.next(session, (&info, &server)).await else { return };
            session.connect(next.live(), next.fenced);
            connection = next;
        }
    }

    /// Connects again. Returns `None` if the session is over.
    async fn next(&self, session: &Session, (info, server): (&zk::SessionInfo, &str)) -> Option<Connection> {
        let granted = session.clock().terms().session;
        let number = session.link().connection + 1;
        let known = Known { info, server, clock: session.clock(), number };
        loop {
            match self.connect(Some(known), self.silence.of(granted)).await {
                Ok(next) => return Some(next),
                Err(error) if !matches!(error, OpenError::Unreachable(_)) => {
                    tracing::warn!(%error, "the servers do not accept the session");
                    return None;
                }
                Err(_) if session.clock().silence() > granted * 7 / 5 => {
                    tracing::warn!("the session is given up after the servers have been silent for so long");
                    return None;
                }
                Err(error) => tracing::debug!(%error, "no server accepts the session now"),
            }
            let pause = pause(granted, fastrand::f64());
            if timeout(pause, session.requests.closed()).await.is_ok() {
                sleep(pause.min(CLOSING_PAUSE)).await;
            }
        }
    }
}

/// Sends a request whenever no other answer has moved the lease clock for the time of one heartbeat.
///
/// Without leases it is a read, by which the clock knows a contact of which the leader has been told. A lock that is taken
/// after a pause of the process counts from that.
async fn keep_proved(session: Arc<Session>) {
    let mut leases = session.leases.subscribe();
    let beats = async {
        loop {
            // An answer that does not move the clock must not cause the next request at once.
            let least = session.clock().terms().heartbeat / 4;
            let is_idle = *leases.borrow_and_update() == 0;
            tokio::select! {
                () = sleep(until_due(&session).max(least)) => {}
                _ = leases.wait_for(|leases| *leases > 0), if is_idle => continue,
            }
            if until_due(&session).is_zero() {
                let is_attended = session.is_attended();
                let kind = if is_attended { session.clock().terms().heartbeat_kind } else { Ack::Read };
                if let Err(error) = session.requests().heartbeat(kind).await {
                    tracing::debug!(?error, "heartbeat failed");
                }
            }
        }
    };
    session.until_over(beats).await;
}

/// Returns the time until an answer is needed: one that renews the lease, or any answer after a silence.
fn until_due(session: &Session) -> Duration {
    let (clock, terms) = (session.clock(), session.clock().terms());
    let silence = terms.heartbeat.saturating_sub(clock.silence());
    if !session.is_attended() {
        return silence;
    }
    let fresh = terms.term(terms.heartbeat_kind).saturating_sub(terms.heartbeat);
    clock.remaining().saturating_sub(fresh).min(silence)
}

/// Tells the leases when the lease clock has run out.
async fn watch_end(session: Arc<Session>) {
    let mut leases = session.leases.subscribe();
    let looks = async {
        loop {
            leases.wait_for(|leases| *leases > 0).await.ok();
            let remaining = session.clock().remaining();
            if remaining.is_zero() {
                // The tasks of held nodes wait for a change of the connection, and look at the clock then.
                session.link.send_modify(|_| {});
            }
            // The timer stands still while the machine is suspended, and the lease clock does not.
            let pause = if remaining.is_zero() { LOOK } else { remaining.min(LOOK) };
            sleep(pause).await;
        }
    };
    session.until_over(looks).await;
}

/// The longest time after which the lease clock is looked at again.
const LOOK: Duration = Duration::from_secs(1);

/// Returns the pause after a round of attempts, for a session of this timeout and a random number between 0 and 1.
fn pause(session: Duration, random: f64) -> Duration {
    let shortest = PAUSE.min(session / 24);
    shortest + shortest.mul_f64(random)
}

/// The shortest pause after a round of attempts, unless the session is short. The longest one is twice as long.
const PAUSE: Duration = Duration::from_millis(500);
/// The longest pause while the session is being closed.
const CLOSING_PAUSE: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use futures_util::future::{FutureExt, join_all};
    use zklock_testkit::wire::Opcode;
    use zklock_testkit::{EmbeddedServer, How, Proxy};

    use super::super::{Health, Link};
    use super::*;
    use crate::client::config::Config;
    use crate::client::proxy;

    const SECOND: Duration = Duration::from_secs(1);
    const MOMENT: Duration = Duration::from_millis(50);

    /// What is unfavourable for a lease of a session with this timeout and this tick.
    struct Worst {
        terms: Terms,
        /// The longest attempt at a silent server.
        silence: Duration,
    }

    fn worst(timeout: Duration, tick: Duration) -> Worst {
        let terms = Terms::new(timeout, (tick, SECOND * 10), Heartbeat::Write).unwrap();
        Worst { terms, silence: Silence::ForConnecting(SECOND * 10).of(timeout) }
    }

    impl Worst {
        /// The time from the last proof until the library has noticed that a server is silent, by checks every eighth.
        fn noticed(&self) -> Duration {
            self.terms.heartbeat + self.silence * 9 / 8
        }

        /// The longest pause after a round.
        fn pause(&self) -> Duration {
            pause(self.terms.session, 1.0)
        }

        /// What is left of the lease when it is proved again that long after the last proof. An answer takes a little time.
        #[track_caller]
        fn survives(&self, since_proof: Duration) {
            let needed = since_proof + self.terms.heartbeat / 4;
            assert!(needed <= self.terms.term(Ack::Write), "{:?}: {needed:?}", self.terms.session);
        }
    }

    /// Sessions with the default settings, longer ones, and short ones with a fitting tick and with the default one.
    fn sessions() -> [Worst; 4] {
        let (tick, short) = (2 * SECOND, SECOND / 2);
        [(30, tick), (40, tick), (10, short), (6, tick)].map(|(timeout, tick)| worst(SECOND * timeout, tick))
    }

    #[test]
    fn a_lease_outlives_silent_servers_that_are_all_tried_first() {
        for worst in sessions() {
            // A minority. In short sessions, of at most five servers.
            for silent in [1, 1, 2, 3].into_iter().take(if worst.silence > SECOND { 4 } else { 3 }) {
                worst.survives(worst.noticed() + worst.silence * silent);
            }
        }
    }

    #[test]
    fn a_lease_outlives_a_silent_leader_with_the_default_settings() {
        let worst = worst(SECOND * 30, SECOND * 2);
        // The followers notice within the sync limit and elect within about a second. A round has just failed at them
        // then, and is followed by an attempt at the old leader, a pause, and one more such attempt.
        let elected = worst.terms.heartbeat + SECOND * 11;
        worst.survives(elected + worst.silence * 2 + worst.pause());
    }

    #[test]
    fn a_lease_outlives_refusing_servers_until_a_second_before_its_end() {
        let worst = worst(SECOND * 30, SECOND * 2);
        for outage in [12, 13, 14, 16, 17] {
            worst.survives(worst.terms.heartbeat + SECOND * outage + worst.pause() + MOMENT);
        }
    }

    #[test]
    fn a_lease_outlives_servers_that_restart_one_after_the_other() {
        let worst = worst(SECOND * 30, SECOND * 2);
        // Each is away for two seconds, and the connection moves each time. Five in a row prove nothing in between.
        worst.survives(worst.terms.heartbeat + (SECOND * 2 + worst.pause()) * 5);
    }

    #[test]
    fn calls_go_on_soon_after_the_servers_are_back() {
        assert_eq!((pause(SECOND * 30, 0.0), pause(SECOND * 30, 1.0)), (SECOND / 2, SECOND));
        assert_eq!((pause(SECOND * 6, 0.0), pause(SECOND * 6, 1.0)), (SECOND / 4, SECOND / 2));
    }

    #[test]
    fn connecting_takes_less_than_its_bound_behind_silent_servers() {
        for timeout in [6, 30, 3600].map(Duration::from_secs) {
            let silence = Silence::ForConnecting(SECOND * 10).of(timeout);
            for silent in 1..=3 {
                assert!(silence * 9 / 8 * silent < SECOND * 10);
            }
        }
    }
    #[tokio::test]
    async fn a_session_that_is_granted_less_is_known_by_the_number_of_its_connection() {
        let server = EmbeddedServer::builder().max_session_timeout(SECOND * 4).start().unwrap();
        let settings = Config::new(server.connect_string()).tick_time(SECOND / 2).validated().unwrap();
        let session = settings.opening.open(&Tasks::started()).await.unwrap();
        let watched = session.requests().watch_node("/").await.unwrap();
        assert!(watched.connection > 1 && session.link().is_on(watched.connection));
        assert_eq!(server.sessions().len(), 1);
    }

    /// Connects to a server behind a proxy, and to another one, that answers its credentials with this.
    async fn of_two(refuses: [bool; 2]) -> (Result<Arc<Session>, OpenError>, Vec<Proxy>, EmbeddedServer) {
        let server = EmbeddedServer::start().unwrap();
        let proxies: Vec<_> = (0..2).map(|_| Proxy::start(server.address()).unwrap()).collect();
        for (proxy, _) in proxies.iter().zip(refuses).filter(|(_, refuses)| *refuses) {
            refuse_credentials(proxy);
        }
        let servers = format!("{},{}", proxies[0].connect_string(), proxies[1].connect_string());
        let opening = Config::new(servers).digest("user", "password").validated().unwrap().opening;
        let opened = timeout(SECOND * 20, opening.open(&Tasks::started())).await.unwrap();
        (opened, proxies, server)
    }

    /// Waits for the connection with this number, or a later one.
    async fn connected(session: &Session, number: u64) {
        let is_there = |link: &Link| link.connection >= number && link.health == Health::Connected;
        session.links().wait_for(is_there).await.unwrap();
    }

    /// Rewrites the code of each answer to credentials, which stands behind an id and a zxid.
    fn refuse_credentials(proxy: &Proxy) {
        proxy.on_reply(Opcode::AUTH).always().rewrite(|reply| {
            let mut reply = reply.to_vec();
            reply[12..16].copy_from_slice(&(-115_i32).to_be_bytes());
            reply
        });
    }

    #[tokio::test]
    async fn a_server_that_refuses_the_credentials_is_left_for_another_one() {
        for _ in 0..2 {
            let (session, proxies, _server) = of_two([true, false]).await;
            let session = session.unwrap();
            // It is kept, too, although one of the servers refuses it.
            proxies[1].cut(How::Rst);
            timeout(SECOND * 10, connected(&session, 2)).await.unwrap();
            // It is not given up while the other one is away, and one that all of them refuse is.
            proxies[1].refuse();
            proxies[1].cut(How::Rst);
            let rounds = proxies[0].replies(Opcode::AUTH) + 4;
            let refused = async {
                while proxies[0].replies(Opcode::AUTH) < rounds {
                    sleep(SECOND / 100).await;
                }
            };
            timeout(SECOND * 20, refused).await.unwrap();
            assert!(!session.is_over());
            refuse_credentials(&proxies[1]);
            proxies[1].heal();
            timeout(SECOND * 10, session.over()).await.unwrap();
        }
        let (refused, ..) = of_two([true, true]).await;
        assert!(matches!(refused, Err(OpenError::AuthFailed)));
    }

    #[tokio::test]
    async fn the_server_of_the_broken_connection_is_tried_last() {
        let (session, proxies, _server) = of_two([false, false]).await;
        let session = session.unwrap();
        let tries = |index: usize| proxies[index].requests(Opcode::CREATE_SESSION);
        let first = usize::from(tries(0) == 0);
        for broken in [first, 1 - first].into_iter().cycle().take(8) {
            let (before, number) = (tries(broken), session.link().connection + 1);
            proxies[broken].cut(How::Rst);
            timeout(SECOND * 20, connected(&session, number)).await.unwrap();
            assert_eq!(tries(broken), before);
        }
    }

    #[tokio::test]
    async fn a_shorter_session_ends_the_lease_earlier_although_the_fence_is_not_answered() {
        let server = EmbeddedServer::builder().tick_time(SECOND / 2).max_session_timeout(SECOND * 30);
        let server = server.start().unwrap();
        let proxy = Proxy::start(server.address()).unwrap();
        let opening = |timeout| {
            let config = Config::new(proxy.connect_string()).tick_time(SECOND / 2).session_timeout(timeout);
            config.validated().unwrap().opening
        };
        let (longer, shorter) = (opening(SECOND * 30), opening(SECOND * 4));
        let first = longer.connect(None, SECOND * 4).await.unwrap();
        let clock = LeaseClock::since(first.begun, longer.terms(first.timeout()).unwrap());
        clock.answered(Ack::Write, Instant::now(), &Ok(()));
        assert!(clock.remaining() > SECOND * 4);
        let fence = proxy.on_reply(Opcode::MULTI).hold();
        let info = first.live().session().clone();
        let known = Known { info: &info, server: &first.server, clock: &clock, number: 2 };
        tokio::select! {
            biased;
            _ = shorter.connect(Some(known), SECOND * 4) => panic!("the fence is not answered"),
            () = fence.struck() => {}
        }
        assert!(clock.remaining() < SECOND * 4);
    }

    #[tokio::test]
    async fn a_name_whose_first_address_is_silent_is_reached_by_the_second_one() {
        let (server, proxy) = proxy();
        // It accepts connections, and answers nothing.
        let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let found = [silent.local_addr().unwrap(), proxy.address()];
        let mut opening = Config::new("zk:2181").validated().unwrap().opening;
        opening.addresses = Addresses::resolved_by("zk:2181", move |_, _| Ok(found.to_vec()));
        let tasks = Tasks::started();
        // Some of them begin with the silent address.
        let opened = join_all((0..8).map(|_| timeout(SECOND * 20, opening.open(&tasks)))).await;
        let sessions: Vec<_> = opened.into_iter().map(|opened| opened.unwrap().unwrap()).collect();
        proxy.cut(How::Rst);
        for session in &sessions {
            timeout(SECOND * 20, connected(session, 2)).await.unwrap();
            assert!(session.clock().is_valid());
        }
        assert_eq!(server.sessions().len(), sessions.len());
    }

    #[tokio::test]
    async fn leases_learn_soon_that_the_clock_ran_out_while_the_machine_was_suspended() {
        let session = Session::staged(1);
        let _lease = session.attend();
        tokio::spawn(watch_end(session.clone()));
        let mut links = session.links();
        tokio::task::yield_now().await;
        // The lease clock goes on during a suspension, and the timers do not.
        session.clock().run_out();
        assert!(links.changed().now_or_never().is_none());
        timeout(LOOK * 10, links.changed()).await.unwrap().unwrap();
    }
}

//! Work that starts at most once per period.

mod attributes;

use std::future::ready;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

use tokio::task::JoinSet;
use zklock::{Acl, Client, Config, Health, LockError, LockEventKind, Policy, Refusal};
use zklock_testkit::How;
use zklock_testkit::wire::Opcode;
use zookeeper_client as zk;

use crate::requests::{PATIENCE, quiet_client, quiet_proxied, reads_as_heartbeats, requests};
use crate::support::frames::{Caller, Frame, Interrupted, Meanwhile};
use crate::support::{Server, Space, ephemeral, failed, lock, persistent, soon, until};

const PATH: &str = "/invoices";
const TICK: &str = "/ticks/invoices";
const HOUR: Duration = Duration::from_secs(3_600);

async fn start(client: &Client, tick: &str, period: Duration) -> Result<bool, LockError> {
    let guard = client.mutex(PATH)?.lock().await?;
    let may_start = guard.once_per(tick, period).await;
    guard.release().await.ok();
    may_start
}

async fn tick_node(space: &Space) -> (String, zk::Stat) {
    let (data, stat) = space.outsider().await.get_data(&space.full(TICK)).await.unwrap();
    (String::from_utf8(data).unwrap(), stat)
}

/// Writes the record of a start that took place at this time, in milliseconds.
async fn write_tick(space: &Space, start_ms: u128) {
    let outsider = space.outsider().await;
    outsider.mkdir(&space.full(TICK), &persistent()).await.unwrap();
    let by = "00000000-0000-0000-0000-000000000007";
    let record = format!("{} {} {start_ms} {by}", HOUR.as_millis(), "00000000-0000-0000-0000-000000000001");
    outsider.set_data(&space.full(TICK), record.as_bytes(), None).await.unwrap();
}

#[tokio::test]
async fn a_start_by_a_clock_that_was_far_ahead_is_told() {
    let space = Space::new();
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    write_tick(&space, (now + 1_000 * HOUR).as_millis()).await;
    let client = space.client().await;
    let mut events = client.events();
    assert!(!start(&client, TICK, HOUR).await.unwrap());
    assert!(!start(&client, TICK, HOUR).await.unwrap());
    client.mutex("/last").unwrap().lock().await.unwrap().release().await.unwrap();
    let mut told = Vec::new();
    loop {
        let event = soon(events.next()).await.unwrap();
        match event.kind {
            LockEventKind::TickAhead { ahead, .. } => told.push((event.path, ahead)),
            LockEventKind::Acquired { .. } if event.path == "/last" => break,
            _ => {}
        }
    }
    let [(path, ahead)] = &told[..] else { panic!("{told:?}") };
    assert_eq!(path, TICK);
    // The server runs on this machine, and shares its clock.
    assert!(*ahead > 999 * HOUR && *ahead <= 1_000 * HOUR, "{ahead:?}");
}

#[tokio::test]
async fn a_begun_period_outlives_its_lock_and_its_session_and_says_how() {
    let (space, [first, next]) = Space::with_clients().await;
    assert!(start(&first, TICK, HOUR).await.unwrap());
    first.shutdown(Duration::ZERO).await;
    assert!(!start(&next, TICK, HOUR).await.unwrap());
    let (data, stat) = tick_node(&space).await;
    assert_eq!(stat.ephemeral_owner, 0);
    let words: Vec<_> = data.split(' ').collect();
    // The start counts from the creation.
    assert_eq!((words[0], words[2]), ("3600000", &*stat.ctime.to_string()));
    // A shorter period is over sooner, even if the last start was for a longer one.
    until(|| async { start(&next, TICK, Duration::from_millis(1)).await.unwrap() }, "it is over").await;
}

#[tokio::test]
async fn question_costs_two_requests_and_nothing_once_the_answer_is_known() {
    let server = Server::start_granting(PATIENCE);
    let (other, client) = (quiet_client(&server).await, quiet_client(&server).await);
    let (first, guard) = (lock(&other, "/one").await, lock(&client, "/other").await);
    until(async || server.watch_count() == 2, "the holders have looked around").await;
    assert!(first.once_per(TICK, HOUR).await.unwrap());
    let asks = async || assert!(!guard.once_per(TICK, HOUR).await.unwrap());
    assert_eq!(requests(&server, asks()).await, 2);
    let again = async {
        for _ in 0..100 {
            asks().await;
        }
        let mutex = client.mutex("/contended").unwrap();
        assert!(client.unless_begun((TICK, HOUR), mutex.lock()).await.unwrap().is_none());
    };
    assert_eq!(requests(&server, again).await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_of_several_readers_starts() {
    let space = Space::new();
    let mut readers = JoinSet::new();
    for _ in 0..20 {
        let client = space.client().await;
        readers.spawn(async move {
            let guard = client.rwlock(PATH)?.read().await?;
            guard.once_per(TICK, HOUR).await
        });
    }
    let starts: Vec<_> = readers.join_all().await.into_iter().map(Result::unwrap).collect();
    assert_eq!(starts.iter().filter(|starts| **starts).count(), 1, "{starts:?}");
}

#[tokio::test]
async fn a_term_that_ends_while_it_asks_starts_nothing_and_the_next_one_does() {
    let (proxy, client) = Space::new().proxied().await;
    let latch = client.election("/leader").unwrap().policy(Policy::GiveUpWhenSuspended).latch();
    let term = soon(latch.leadership()).await.unwrap();
    let cut = proxy.on_request(Opcode::GET_DATA).cut(How::Rst);
    let lost = failed(soon(term.once_per(TICK, HOUR)).await);
    assert!(cut.hits() > 0 && lost.is_lost(), "{lost}");
    proxy.clear();
    let next = soon(latch.leadership()).await.unwrap();
    assert!(next.fencing_token() > term.fencing_token());
    assert!(next.once_per(TICK, HOUR).await.unwrap());
}

#[tokio::test]
async fn a_question_that_nobody_waits_for_any_more_tells_no_loss() {
    let space = Space::new();
    let (proxy, client) = space.proxied_with(reads_as_heartbeats).await;
    // The tick exists, so the next question writes it at once.
    assert!(start(&space.client().await, TICK, HOUR).await.unwrap());
    let mut events = client.events();
    let guard = client.mutex(PATH).unwrap().lock().await.unwrap();
    let written = proxy.replies(Opcode::MULTI);
    let held = proxy.on_request(Opcode::GET_DATA).hold();
    {
        let question = guard.once_per(TICK, HOUR);
        tokio::pin!(question);
        tokio::select! {
            answer = &mut question => panic!("the question is held back: {answer:?}"),
            () = soon(held.struck()) => {}
        }
    }
    let deletes = proxy.requests(Opcode::DELETE);
    let released = tokio::spawn(guard.release());
    until(|| async { proxy.requests(Opcode::DELETE) > deletes }, "the release is on its way").await;
    held.release();
    soon(released).await.unwrap().unwrap();
    client.mutex("/next").unwrap().lock().await.unwrap().release().await.unwrap();
    let mut released = Vec::new();
    while !released.ends_with(&["/next".to_owned()]) {
        let event = soon(events.next()).await.expect("the client is there");
        assert!(!matches!(event.kind, LockEventKind::Lost { .. }), "{event:?}");
        released.extend(matches!(event.kind, LockEventKind::Released { .. }).then_some(event.path));
    }
    assert_eq!(released, [PATH, "/next"]);
    let of_the_next_lock = 1;
    let all = proxy.requests(Opcode::MULTI);
    assert_eq!(all, written + of_the_next_lock, "no write is sent for a holder that is gone");
}

#[tokio::test]
async fn a_question_that_another_one_overtakes_is_answered_by_it_and_not_written_again() {
    let (space, proxy, client) = Space::with_proxy().await;
    let holder = lock(&space.client().await, PATH).await;
    assert!(holder.once_per(TICK, HOUR).await.unwrap());
    let contended = failed(client.mutex(PATH).unwrap().take(None).await);
    // A call asks if its lock is contended.
    let ask = async |client: Client| {
        let taking = ready(Err::<(), _>(contended.clone()));
        client.unless_begun((TICK, HOUR), taking).await.unwrap().is_none()
    };
    let written = proxy.requests(Opcode::MULTI);
    let held = proxy.on_request(Opcode::MULTI).hold();
    let overtaken = async {
        soon(held.struck()).await;
        assert!(ask(space.client().await).await);
        held.release();
    };
    let (has_begun, ()) = tokio::join!(soon(ask(client)), overtaken);
    assert!(has_begun);
    assert_eq!(proxy.requests(Opcode::MULTI), written + 1);
}

#[tokio::test]
async fn a_call_whose_wait_is_over_does_not_wait_for_the_servers_as_long_as_other_requests() {
    let server = Server::start_granting(PATIENCE);
    let config = Config::new(server.connect_string()).session_timeout(PATIENCE).default_wait(PATIENCE);
    let client = config.connect().await.unwrap();
    let contended = failed({
        let _holder = lock(&quiet_client(&server).await, PATH).await;
        client.mutex(PATH).unwrap().take(None).await
    });
    server.kill().unwrap();
    until(async || client.health() == Health::Suspended, "the connection is broken").await;
    let taking = ready(Err::<(), _>(contended));
    let error = failed(soon(client.unless_begun((TICK, HOUR), taking)).await);
    assert!(error.is_contended(), "{error}");
}

#[tokio::test]
async fn a_tick_below_the_root_that_is_deleted_during_a_start_begins_anew() {
    let server = Server::start_granting(PATIENCE);
    // This client does not remember the start.
    let (proxy, client) = quiet_proxied(&server).await;
    assert!(start(&quiet_client(&server).await, "/root-tick", HOUR).await.unwrap());
    let guard = lock(&client, "/other").await;
    let write = proxy.on_request(Opcode::MULTI).hold();
    let delete = async {
        soon(write.struck()).await;
        server.outsider().await.delete("/root-tick", None).await.unwrap();
        write.release();
    };
    let (has_started, ()) = tokio::join!(soon(guard.once_per("/root-tick", HOUR)), delete);
    assert!(has_started.unwrap());
}

#[tokio::test]
async fn a_tick_that_is_deleted_begins_anew() {
    let (space, client) = Space::with_client().await;
    assert!(start(&client, TICK, HOUR).await.unwrap());
    space.outsider().await.delete(&space.full(TICK), None).await.unwrap();
    assert!(!start(&client, TICK, HOUR).await.unwrap(), "it knows that it began");
    assert!(start(&space.client().await, TICK, HOUR).await.unwrap());
}

#[tokio::test]
async fn a_tick_stays_until_it_is_deleted_and_its_parents_go_with_the_last_one() {
    const PERIOD: Duration = Duration::from_millis(1);
    let server = Server::start_reaping();
    let client = Config::new(server.connect_string()).connect().await.unwrap();
    let outsider = server.outsider().await;
    let has = async |path: &str| outsider.check_stat(path).await.unwrap().is_some();
    for tick in ["/ticks/a", "/ticks/b"] {
        assert!(start(&client, tick, PERIOD).await.unwrap());
    }
    // The servers delete the node of the lock, and leave the ticks, whose periods are over.
    until(|| async { !has(PATH).await }, "containers are deleted").await;
    assert!(has("/ticks/a").await && has("/ticks/b").await);
    outsider.delete("/ticks/a", None).await.unwrap();
    assert!(start(&client, "/ticks/a", PERIOD).await.unwrap());
    for tick in ["/ticks/a", "/ticks/b"] {
        outsider.delete(tick, None).await.unwrap();
    }
    until(|| async { !has("/ticks").await }, "the parent is deleted").await;
    assert!(start(&client, "/ticks/a", PERIOD).await.unwrap());
}

#[tokio::test]
async fn bad_ticks_and_periods_are_errors_that_leave_everything_as_it_is() {
    let (space, client) = Space::with_client().await;
    let guard = client.mutex(PATH).unwrap().lock().await.unwrap();
    let invalid = failed(guard.once_per("ticks", HOUR).await);
    assert_eq!(invalid.to_string(), "invalid path \"ticks\": it must start with `/`");
    let invalid = failed(guard.once_per(TICK, Duration::from_micros(10)).await);
    assert!(matches!(invalid, LockError::InvalidConfig { setting: "once_per", .. }), "{invalid}");
    let outsider = space.outsider().await;
    outsider.create(&space.full("/prices"), b"7 EUR", &persistent()).await.unwrap();
    let refused = failed(guard.once_per("/prices", HOUR).await);
    assert!(matches!(&refused, LockError::Refused { refusal: Refusal::Other(_), .. }));
    assert_eq!(refused.to_string(), "request on /prices refused: its data is not that of a tick");
    assert_eq!(outsider.get_data(&space.full("/prices")).await.unwrap().0, b"7 EUR");
    // The servers delete nodes that are not persistent, and with them the memory of the last start.
    client.mutex("/unused").unwrap().lock().await.unwrap().release().await.unwrap();
    for transient in [PATH, "/unused", "/leased"] {
        outsider.create(&space.full("/leased"), b"", &ephemeral()).await.ok();
        let refused = failed(guard.once_per(transient, HOUR).await);
        let reason = "a tick must be persistent, and never have had children";
        assert_eq!(refused.to_string(), format!("request on {transient} refused: {reason}"));
    }
    // A tick that was created in advance by hand is used.
    outsider.create(&space.full("/empty"), b"", &persistent()).await.unwrap();
    assert!(guard.once_per("/empty", HOUR).await.unwrap() && !guard.once_per("/empty", HOUR).await.unwrap());
}

#[tokio::test]
async fn client_that_may_not_write_the_tick_is_denied_and_starts_nothing() {
    let (space, stranger) = Space::with_client().await;
    let guard = stranger.mutex(PATH).unwrap().lock().await.unwrap();
    let owner = space.config().digest("owner", "secret").acl(Acl::CreatorAll).connect().await.unwrap();
    let owned = owner.mutex("/owned").unwrap().lock().await.unwrap();
    assert!(owned.once_per(TICK, HOUR).await.unwrap());
    let denied = failed(guard.once_per(TICK, HOUR).await);
    assert!(matches!(&denied, LockError::Denied { path, .. } if path == TICK), "{denied}");
}

/// Asks for a start of another tick each time, and returns the answer with the tick.
fn begin(client: &Client) -> impl Future<Output = Attempt> + Send + use<> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let (client, tick) = (client.clone(), format!("/ticks/{}", COUNT.fetch_add(1, Ordering::Relaxed)));
    async move { (start(&client, &tick, HOUR).await, tick) }
}

type Attempt = (Result<bool, LockError>, String);

#[rstest::rstest]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn start_that_is_cut_off_anywhere_is_had_once_and_lost_at_most_with_its_session(
    #[values(Frame::Request, Frame::Reply)] frame: Frame,
    #[values(Meanwhile::Nothing, Meanwhile::SessionEnds)] meanwhile: Meanwhile,
) {
    let scene = Interrupted::new().await;
    let other = scene.space.client().await;
    let after = async |attempt: Option<Attempt>| {
        let (starts, tick) = attempt.unwrap();
        let also_starts = start(&other, &tick, HOUR).await.unwrap();
        match starts {
            Ok(starts) => assert!(starts && !also_starts, "{tick}: {starts}, {also_starts}"),
            Err(error) => assert!(error.is_lost() && meanwhile == Meanwhile::SessionEnds, "{tick}: {error}"),
        }
    };
    let interruption = (frame, meanwhile, Caller::Stays);
    let frames = scene.cut_at_each(interruption, || begin(&scene.client()), after).await;
    assert!(frames >= 5, "{frames}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_start_that_is_dropped_anywhere_leaves_no_lock_behind() {
    let scene = Interrupted::new().await;
    let other = scene.space.client().await;
    for frame in Frame::BOTH {
        let after = async || {
            scene.space.until_empty(PATH).await;
            // The client needs a list again after another one has had the lock.
            other.mutex(PATH).unwrap().lock().await.unwrap().release().await.unwrap();
        };
        let frames = scene.drop_at_each(frame, || begin(&scene.client()), after).await;
        assert!(frames >= 5, "{frames}");
    }
}

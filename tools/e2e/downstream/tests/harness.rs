//! The functions that `#[zklock::test]` generates, and how they end.

use std::mem::forget;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::time::{Duration, Instant};

use downstream::{SettleError, SlowBank, settle};
use tokio::task::JoinSet;
use zklock::testing::{FromTestServer, Harness, TestServer};
use zklock::{Client, LockError, distributed_lock};

const QUICK: SlowBank = SlowBank(Duration::ZERO);
const STUCK: SlowBank = SlowBank(Duration::MAX);

mod renamed {
    pub(crate) use zklock as inner;
}

struct Mutex7(zklock::Mutex);

impl FromTestServer for Mutex7 {
    async fn from_test_server(_: &TestServer) -> Self {
        Self(zklock::client().unwrap().mutex("/orders/7").unwrap())
    }
}

#[zklock::test]
async fn a_test_needs_no_arguments() {
    settle(7, &QUICK).await.unwrap();
}

#[zklock::test]
async fn arguments_come_in_any_order(client: Client, Mutex7(mutex): Mutex7, zk: TestServer, _: Client) {
    let held = mutex.lock().await.unwrap();
    assert_eq!(zk.holder(held.path()), client.session_id());
}

#[zklock::test]
async fn errors_leave_a_test() -> Result<(), SettleError> {
    settle(7, &QUICK).await?;
    zklock::client()?.mutex("/orders/7")?.lock().await?.release().await?;
    Ok(())
}

#[zklock::test]
#[should_panic(expected = "as it should")]
async fn a_test_may_have_to_panic(_zk: TestServer) {
    settle(7, &QUICK).await.unwrap();
    panic!("as it should");
}

#[zklock::test(flavor = "multi_thread", worker_threads = 2, session_timeout = "3s")]
async fn tasks_run_on_threads() {
    let both = Arc::new(Barrier::new(2));
    let block = || {
        let both = both.clone();
        zklock::spawn(async move { both.wait() })
    };
    let blocked = (block(), block());
    blocked.0.await.unwrap();
    blocked.1.await.unwrap();
}

/// Locks without a wait, and tells which session held the lock.
#[distributed_lock(path = "/orders/9")]
fn settle_by_blocking() -> Result<Option<i64>, LockError> {
    Ok(zklock::client()?.session_id())
}

#[zklock::test(flavor = "multi_thread", worker_threads = 2)]
async fn tasks_and_threads_of_tokio_use_the_client_of_the_test(zk: TestServer, client: Client) {
    for inherits in [false, true] {
        let stuck = settle(7, &STUCK);
        let stuck = if inherits { zklock::spawn(stuck) } else { tokio::spawn(stuck) };
        zk.until(|zk| zk.holder("/orders/7").is_some()).await;
        assert_eq!(zk.holder("/orders/7"), client.session_id());
        stuck.abort();
        zk.until(|zk| zk.holder("/orders/7").is_none()).await;
    }
    let mut tasks = JoinSet::new();
    for id in 1..4 {
        tasks.spawn(settle(id, &QUICK));
    }
    while let Some(settled) = tasks.join_next().await {
        settled.unwrap().unwrap();
    }
    let blocking = tokio::task::spawn_blocking(settle_by_blocking);
    assert_eq!(blocking.await.unwrap().unwrap(), client.session_id());
    let within = tokio::spawn(async { tokio::spawn(settle(8, &QUICK)).await.unwrap() });
    within.await.unwrap().unwrap();
}

#[zklock::test]
async fn a_scope_in_a_test_takes_the_place_of_its_client(zk: TestServer, client: Client) {
    let other = zk.client().await;
    let found = async || zklock::client().unwrap().session_id();
    assert_eq!(zklock::scope(other.clone(), found()).await, other.session_id());
    let spawned = zklock::scope(other.clone(), async { zklock::spawn(async move { found().await }).await });
    assert_eq!(spawned.await.unwrap(), other.session_id());
    assert_eq!(found().await, client.session_id());
}

#[distributed_lock(path = "/reports", client = "reporting")]
async fn report() -> Result<Option<i64>, LockError> {
    Ok(zklock::named_client("reporting")?.session_id())
}

#[zklock::test]
async fn a_test_has_clients_with_names(zk: TestServer, client: Client) {
    let error = report().await.unwrap_err();
    assert!(matches!(&error, LockError::NotInstalled { name: Some(name), .. } if name == "reporting"));
    let early = tokio::spawn(async {
        while zklock::named_client("reporting").is_err() {
            tokio::task::yield_now().await;
        }
        report().await
    });
    let reporting = zk.client_as("reporting").await;
    assert_eq!(report().await.unwrap(), reporting.session_id());
    assert_eq!(early.await.unwrap().unwrap(), reporting.session_id());
    let scope = zklock::Scope::new().named("reporting", client.clone());
    assert_eq!(scope.run(report()).await.unwrap(), client.session_id());
}

/// Starts once an hour, and returns the number of the start.
#[distributed_lock(path = "/invoices", once_per = "1h")]
async fn invoice(starts: &AtomicUsize) -> Result<Option<usize>, LockError> {
    Ok(Some(starts.fetch_add(1, Ordering::Relaxed)))
}

#[zklock::test]
async fn a_test_lets_a_period_pass(zk: TestServer, client: Client) {
    let (starts, session) = (AtomicUsize::new(0), client.session_id());
    let other = zk.client().await;
    for hour in 0..3 {
        assert_eq!(invoice(&starts).await.unwrap(), Some(hour));
        assert_eq!(invoice(&starts).await.unwrap(), None);
        assert_eq!(zklock::scope(other.clone(), invoice(&starts)).await.unwrap(), None);
        zk.advance_clock(Duration::from_secs(1800));
        assert_eq!(invoice(&starts).await.unwrap(), None, "half an hour is not over");
        zk.advance_clock(Duration::from_secs(1800));
    }
    assert_eq!(zklock::scope(other, invoice(&starts)).await.unwrap(), Some(3));
    assert_eq!(client.session_id(), session, "the session has ended");
}

#[test]
fn a_thread_finds_no_client_after_a_test() {
    let is_there = || zklock::client().is_ok();
    assert!(Harness::new().run(async |_| is_there()));
    assert!(!is_there());
    let panicked = catch_unwind(|| Harness::new().run(async |_| panic!("as it should")));
    assert!(panicked.is_err() && !is_there());
    let outlives = Harness::new().worker_threads(1).run(async |_| {
        let (ended, end) = std::sync::mpsc::channel::<()>();
        let stuck = tokio::task::spawn_blocking(move || (end.recv().is_err(), is_there()));
        // The harness leaves a thread alone that does not come to its end.
        (ended, stuck)
    });
    let (ended, stuck) = outlives;
    drop(ended);
    let stuck = tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(stuck);
    assert_eq!(stuck.unwrap(), (true, false));
}

#[zklock::test]
async fn a_test_inside_of_a_test_has_its_own_client(client: Client) {
    let (inner, after) = tokio::task::spawn_blocking(|| {
        let found = || zklock::client().unwrap();
        (Harness::new().run(async |zk: TestServer| (found(), zk.client().await)), found())
    })
    .await
    .unwrap();
    assert!(after.session_id() == client.session_id());
    for client in [inner.0, inner.1] {
        assert_eq!(client.readiness(), zklock::Readiness::Closing, "it belongs to the inner test");
    }
}

#[zklock::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_test_inside_of_a_scope_has_its_own_client(zk: TestServer) {
    let locks_elsewhere = || {
        Harness::new().run(async |inner: TestServer| {
            let _held = zklock::client().unwrap().mutex("/orders/7").unwrap().lock().await.unwrap();
            inner.holder("/orders/7").is_some() && zk.holder("/orders/7").is_none()
        })
    };
    let inside = async { tokio::task::block_in_place(locks_elsewhere) };
    assert!(zklock::scope(zk.client().await, inside).await);
}

#[zklock::test(crate = renamed::inner, flavor = "current_thread")]
async fn the_crate_may_have_another_name(_zk: TestServer) {}

/// Two tests that would contend for one lock if they shared a server.
mod apart {
    use super::*;

    static BOTH_HOLD: Barrier = Barrier::new(2);

    async fn hold_while_the_other_does(zk: TestServer) {
        let rival = zk.hold("/orders/7").await;
        BOTH_HOLD.wait();
        rival.release().await;
    }

    #[test]
    fn tests_do_not_meet() {
        let test = || Harness::new().run(hold_while_the_other_does);
        std::thread::scope(|scope| {
            scope.spawn(test);
            scope.spawn(test);
        });
    }
}

/// Runs a test, and checks that it ends in time and that its server ends with it.
#[track_caller]
fn ends<T>(body: impl AsyncFnOnce(TestServer) -> T) -> Option<T> {
    let server = Mutex::new(None);
    let start = Instant::now();
    let run = || {
        Harness::new().run(async |zk: TestServer| {
            *server.lock().unwrap() = Some(zk.clone());
            body(zk).await
        })
    };
    let outcome = catch_unwind(AssertUnwindSafe(run)).ok();
    assert!(start.elapsed() < Duration::from_secs(8), "ending the test took {:?}", start.elapsed());
    let server =
        server.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()).expect("the test began");
    let asked = catch_unwind(AssertUnwindSafe(|| server.pause()));
    assert!(asked.is_err(), "the server outlived its test");
    outcome
}

#[test]
fn a_server_ends_with_a_test_that_panics() {
    let panicked = ends(async |zk: TestServer| {
        let _rival = zk.hold("/orders/7").await;
        panic!("as it should");
    });
    assert!(panicked.is_none());
}

#[test]
fn a_task_that_holds_does_not_keep_a_test_from_ending() {
    ends(async |zk: TestServer| {
        zklock::spawn(async { settle(7, &STUCK).await });
        zk.until(|zk| zk.holder("/orders/7").is_some()).await;
    })
    .unwrap();
}

#[test]
fn a_server_that_is_paused_and_a_client_that_is_partitioned_do_not_keep_a_test_from_ending() {
    ends(async |zk: TestServer| {
        let held = zklock::client().unwrap().mutex("/orders/7").unwrap().lock().await.unwrap();
        zk.hold("/orders/8").await.abandon();
        zk.partition(&zklock::client().unwrap());
        zk.pause();
        forget(held);
    })
    .unwrap();
}

#[test]
fn misuse_is_explained() {
    let message = |body: fn(TestServer)| {
        let run = || Harness::new().run(async |zk| body(zk));
        let panic = catch_unwind(AssertUnwindSafe(run)).expect_err("it panics");
        panic.downcast_ref::<String>().cloned().unwrap_or_default()
    };
    assert_eq!(message(|zk| zk.break_lock("/orders/7")), "no client holds /orders/7");
    assert_eq!(message(|zk| zk.delete("/orders")), "there is no node /orders to delete");
    let relative = message(|zk| {
        zk.holder("orders/7");
    });
    assert_eq!(relative, "the path \"orders/7\" is relative: start it with a `/`");
}

//! The functions that `#[zklock::test]` generates, and how they end.

use std::mem::forget;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Barrier, Mutex};
use std::time::{Duration, Instant};

use downstream::{SettleError, SlowBank, settle};
use zklock::Client;
use zklock::testing::{FromTestServer, Harness, TestServer};

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
async fn boxed_errors_leave_a_test() -> Result<(), Box<dyn std::error::Error>> {
    Ok(settle(7, &QUICK).await?)
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

#[zklock::test]
async fn tasks_use_the_client_of_the_test(zk: TestServer, client: Client) {
    let stuck = zklock::spawn(settle(7, &STUCK));
    zk.until(|zk| zk.holder("/orders/7").is_some()).await;
    assert_eq!(zk.holder("/orders/7"), client.session_id());
    stuck.abort();
    zk.until(|zk| zk.holder("/orders/7").is_none()).await;
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
fn a_server_ends_with_its_test() {
    assert_eq!(ends(async |_| 7), Some(7));
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
fn a_lock_that_is_leaked_does_not_keep_a_test_from_ending() {
    ends(async |zk: TestServer| {
        forget(zk.hold("/orders/7").await);
        forget(zklock::client().unwrap().mutex("/orders/8").unwrap().lock().await.unwrap());
    })
    .unwrap();
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

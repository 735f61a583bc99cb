//! Orders are settled once, despite rivals, outages and lost sessions.

use std::cell::Cell;
use std::future::pending;
use std::time::Duration;

use downstream::{Bank, SettleError, SlowBank, settle, settle_in_turn, settle_soon};
use zklock::Client;
use zklock::testing::TestServer;

const PATH: &str = "/orders/7";
const QUICK: SlowBank = SlowBank(Duration::ZERO);

/// A bank that runs a closure instead of paying.
struct Clerk<F>(F);

impl<F: AsyncFn(u64)> Bank for Clerk<F> {
    async fn pay(&self, order: u64) {
        (self.0)(order).await;
    }
}

#[track_caller]
fn lock_error(result: Result<(), SettleError>) -> zklock::LockError {
    match result {
        Err(SettleError::Lock(error)) => error,
        other => panic!("expected an error of the lock, got: {other:?}"),
    }
}

#[zklock::test]
async fn a_settlement_that_loses_its_lock_is_cancelled_and_the_next_one_gets_it(
    zk: TestServer,
    client: Client,
) {
    for loss in ["session", "node", "queue"] {
        let clerk = Clerk(async |_| {
            match loss {
                "session" => zk.expire(&client).await,
                "node" => zk.break_lock(PATH),
                _ => zk.delete("/orders"),
            }
            pending().await
        });
        assert!(lock_error(settle(7, &clerk).await).is_lost(), "{loss}");
        settle(7, &QUICK).await.expect("the lock is free");
    }
}

#[zklock::test]
async fn a_settlement_goes_on_after_its_connection_broke(zk: TestServer, client: Client) {
    let clerk = Clerk(async |_| {
        zk.disconnect(&client).await;
        // This lock is acquired only after the client has reconnected.
        client.mutex("/other").unwrap().lock().await.unwrap().release().await.unwrap();
    });
    settle(7, &clerk).await.expect("the session lived on");
}

#[zklock::test]
async fn a_lost_reply_leaves_one_contender(zk: TestServer, client: Client) {
    let lost = zk.drop_reply(&client);
    let clerk = Clerk(async |_| {
        assert_eq!(zk.holder(PATH), client.session_id());
        assert_eq!(zk.waiting(PATH), 0);
    });
    settle_in_turn(7, &clerk).await.expect("the contender was found");
    lost.happened().await;
    assert_eq!(zk.holder(PATH), None);
}

#[zklock::test]
async fn two_replicas_take_turns(zk: TestServer, first: Client) {
    let second = zk.client().await;
    let (inside, settled) = (Cell::new(false), Cell::new(0));
    let clerk = Clerk(async |_| {
        assert!(!inside.replace(true), "two settlements run at the same time");
        // The first settlement waits until the other one is in the queue.
        zk.until_waiting(PATH, 1 - settled.get()).await;
        settled.set(settled.get() + 1);
        inside.set(false);
    });
    let (mine, others) = tokio::join!(
        zklock::scope(first, settle_in_turn(7, &clerk)),
        zklock::scope(second, settle_in_turn(7, &clerk)),
    );
    mine.and(others).expect("both get their turn");
    assert_eq!(settled.get(), 2);
}

#[zklock::test(session_timeout = "2s")]
async fn a_partitioned_settlement_ends_before_the_next_begins(zk: TestServer, client: Client) {
    let second = zk.client().await;
    let clerk = Clerk(async |_| {
        zk.partition(&client);
        pending().await
    });
    assert!(lock_error(settle(7, &clerk).await).is_lost());
    zklock::scope(second, settle_in_turn(7, &QUICK)).await.expect("the server lets the next in");
    zk.heal(&client);
    settle_in_turn(7, &QUICK).await.expect("the client is back");
}

#[zklock::test(session_timeout = "2s")]
async fn an_abandoned_order_can_be_settled_once_its_session_has_timed_out(zk: TestServer) {
    zk.hold(PATH).await.abandon();
    settle_in_turn(7, &QUICK).await.expect("the lock is free in the end");
}

#[zklock::test]
async fn a_rival_that_is_expired_is_gone(zk: TestServer) {
    let rival = zk.hold(PATH).await;
    zk.expire(rival.client()).await;
    settle(7, &QUICK).await.expect("the lock is free");
}

#[zklock::test]
async fn locks_outlive_a_restart(zk: TestServer, client: Client) {
    let clerk = Clerk(async |_| {
        zk.restart();
        assert_eq!(zk.holder(PATH), client.session_id());
        client.mutex("/other").unwrap().lock().await.unwrap().release().await.unwrap();
    });
    settle(7, &clerk).await.expect("the session lived on");
}

#[zklock::test]
async fn a_paused_server_is_reported(zk: TestServer) {
    zk.pause();
    let error = lock_error(settle_soon(7, &QUICK).await);
    assert!(error.is_timeout() && !error.is_contended(), "{error}");
    zk.resume();
    settle_in_turn(7, &QUICK).await.expect("the server answers again");
}

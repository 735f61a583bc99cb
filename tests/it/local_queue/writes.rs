//! Guarded writes of a holder that has passed the lock on.

use zklock_testkit::How;
use zklock_testkit::wire::Opcode;

use super::{PATH, lock_and_wait_behind, spawn_lock, until_in_line};
use crate::support::{Space, soon, until};

const DATA: &str = "/data";

#[tokio::test]
async fn a_write_under_way_delays_the_next_holder_until_it_is_answered() {
    let space = Space::new();
    let (proxy, client) = space.proxied().await;
    let (guard, waiting) = lock_and_wait_behind(&client).await;
    guard.create(DATA, "first").await.unwrap();
    let held = proxy.on_request(Opcode::MULTI).hold();
    {
        let write = guard.set_data(DATA, "second");
        tokio::pin!(write);
        tokio::select! {
            written = &mut write => panic!("the write is held back: {written:?}"),
            () = soon(held.struck()) => {}
        }
    }
    let token = guard.fencing_token();
    let releasing = tokio::spawn(guard.release());
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert!(!waiting.is_finished() && !releasing.is_finished());
    held.release();
    let guard = soon(waiting).await.unwrap().unwrap();
    soon(releasing).await.unwrap().unwrap();
    assert_eq!((guard.fencing_token().zxid(), guard.fencing_token().handoff()), (token.zxid(), 1));
    let data = space.outsider().await.get_data(&space.full(DATA)).await.unwrap().0;
    assert_eq!(data, b"second", "it was applied before the next holder began");
    guard.release().await.unwrap();
}

#[tokio::test]
async fn a_write_of_unknown_outcome_makes_the_next_holder_take_another_node() {
    let space = Space::new();
    let (proxy, client) = space.proxied().await;
    let (guard, waiting) = lock_and_wait_behind(&client).await;
    guard.create(DATA, "first").await.unwrap();
    let cut = proxy.on_request(Opcode::MULTI).cut(How::Rst);
    guard.set_data(DATA, "second").await.unwrap_err();
    soon(cut.struck()).await;
    let token = guard.fencing_token();
    until(|| async { guard.is_held() }, "the client is back").await;
    guard.release().await.unwrap();
    let guard = soon(waiting).await.unwrap().unwrap();
    assert!(guard.fencing_token().zxid() > token.zxid());
    guard.release().await.unwrap();
}

#[tokio::test]
async fn no_write_of_an_earlier_holder_is_applied_under_a_later_token() {
    const ROUNDS: u32 = if cfg!(soak) { 500 } else { 100 };
    let space = Space::new();
    let client = space.client().await;
    let first = client.mutex(PATH).unwrap().lock().await.unwrap();
    first.create(DATA, "0").await.unwrap();
    let mut next = spawn_lock(&client);
    until_in_line(&client, 1).await;
    first.release().await.unwrap();
    let mut last = 0;
    for round in 1..=ROUNDS {
        let guard = soon(next).await.unwrap().unwrap();
        next = spawn_lock(&client);
        let seen = space_data(&space).await;
        assert!(seen <= last, "{seen} was written after its holder's successor began, which wrote {last}");
        guard.set_data(DATA, round.to_string()).await.unwrap();
        last = round;
        {
            // This write is sent, and its caller does not wait for it.
            let late = guard.set_data(DATA, (round + 1_000).to_string());
            tokio::pin!(late);
            let _ = futures_util::poll!(&mut late);
        }
        guard.set_data(DATA, round.to_string()).await.unwrap();
        drop(guard);
    }
    soon(next).await.unwrap().unwrap().release().await.unwrap();
}

async fn space_data(space: &Space) -> u32 {
    let data = space.outsider().await.get_data(&space.full(DATA)).await.unwrap().0;
    String::from_utf8(data).unwrap().parse().unwrap()
}

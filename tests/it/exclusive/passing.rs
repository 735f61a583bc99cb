//! The lock goes from one call of a client to the next.

use std::time::Duration;

use zklock::{LockError, Queueing};
use zklock_testkit::Proxy;
use zklock_testkit::wire::Opcode;

use super::{exclusive, lock, spawn_lock, until_nothing_is_left};
use crate::support::{Space, failed, soon, until_in_line};

#[tokio::test]
async fn a_line_of_calls_is_served_without_a_request_and_entering_again_is_an_error_meanwhile() {
    const CALLS: usize = 20;
    let space = Space::new();
    let proxy = Proxy::start(space.server().address()).unwrap();
    let queueing = Queueing::new(64, Duration::from_secs(60));
    let client = space.config_at(proxy.connect_string()).queueing(queueing).connect().await.unwrap();
    let mut guard = lock(&client).await;
    let waiters: Vec<_> = (0..CALLS).map(|_| spawn_lock(&client)).collect();
    until_in_line(&exclusive(&client), CALLS as u32).await;
    let mutex = exclusive(&client);
    guard
        .scope(async {
            let error = failed(soon(mutex.lock_timeout(Duration::MAX)).await);
            assert!(matches!(error, LockError::Reentrant { .. }), "{error}");
            let error = failed(soon(mutex.try_lock()).await);
            assert!(matches!(error, LockError::Reentrant { .. }), "{error}");
        })
        .await;
    let of_locks = [Opcode::CREATE2, Opcode::GET_CHILDREN, Opcode::GET_CHILDREN2, Opcode::DELETE];
    let counted = || of_locks.map(|opcode| proxy.requests(opcode));
    let (before, token) = (counted(), guard.fencing_token());
    for (nth, waiter) in waiters.into_iter().enumerate() {
        guard.release().await.unwrap();
        assert!(mutex.try_lock().await.unwrap().is_none());
        guard = soon(waiter).await.unwrap().unwrap();
        let next = guard.fencing_token();
        assert_eq!((next.zxid(), next.handoff() as usize), (token.zxid(), nth + 1));
        if nth + 2 == CALLS {
            assert_eq!(counted(), before);
        }
    }
    guard.release().await.unwrap();
    until_nothing_is_left(&space).await;
}

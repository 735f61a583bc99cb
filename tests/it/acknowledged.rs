//! Bodies whose callers go on when the servers have acknowledged the release.

use std::sync::Arc;

use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use zklock::{Client, LockError, Release, distributed_lock};
use zklock_testkit::wire::Opcode;
use zklock_testkit::{Hold, How, Proxy};

use crate::support::{Space, soon};

const PATH: &str = "/orders";
const PAIR: [&str; 2] = ["/orders", "/stock"];

/// Connects a client that has taken and released the locks, so that nothing has to be created for the next call.
async fn connect() -> (Space, Arc<Proxy>, Client) {
    let space = Space::new();
    let (proxy, client) = space.proxied_with(|config| config.release(Release::Acknowledged)).await;
    client.multi(PAIR).unwrap().lock().await.unwrap().release().await.unwrap();
    (space, Arc::new(proxy), client)
}

/// Lets the answer to a release arrive, and asserts that the call returns then, and did not return before.
async fn assert_returns_after(answer: &Hold, call: JoinHandle<Result<u32, LockError>>) {
    assert!(!call.is_finished());
    answer.release();
    assert_eq!(soon(call).await.unwrap().unwrap(), 7);
}

/// Asserts that a call that takes `PATH` returns after the answer to its release, and not before.
async fn assert_waits_for_the_answer(
    (space, proxy): (&Space, &Proxy),
    call: impl Future<Output = Result<u32, LockError>> + Send + 'static,
) {
    let deleted = proxy.on_reply(Opcode::DELETE).hold();
    let call = tokio::spawn(call);
    soon(deleted.struck()).await;
    space.until_empty(PATH).await;
    assert_returns_after(&deleted, call).await;
}

#[distributed_lock(path = "/orders")]
async fn annotated() -> Result<u32, LockError> {
    Ok(7)
}

#[distributed_lock(path = "/orders", guard = held)]
async fn annotated_with_guard() -> Result<u32, LockError> {
    assert!(held.is_held());
    Ok(7)
}

#[tokio::test]
async fn a_body_under_one_lock_returns_after_the_answer_to_its_release() {
    let (space, proxy, client) = connect().await;
    let at = (&space, &*proxy);
    let mutex = client.mutex(PATH).unwrap();
    assert_waits_for_the_answer(at, async move { mutex.run(async |_| 7).await }).await;
    assert_waits_for_the_answer(at, zklock::scope(client.clone(), annotated())).await;
    assert_waits_for_the_answer(at, zklock::scope(client.clone(), annotated_with_guard())).await;
}

/// Takes both locks of a pair, and does something before they are released.
async fn run_pair(client: Client, before_its_end: impl FnOnce() + Send + 'static) -> Result<u32, LockError> {
    let body = async move |_: &_| {
        before_its_end();
        7
    };
    client.multi(PAIR).unwrap().run(body).await
}

#[tokio::test]
async fn a_body_under_several_locks_returns_after_the_answer_to_their_release() {
    let (space, proxy, client) = connect().await;
    let (told, deleted) = oneshot::channel();
    let of_call = proxy.clone();
    let hold = move || drop(told.send(of_call.on_reply(Opcode::DELETE).hold()));
    let call = tokio::spawn(run_pair(client, hold));
    let deleted = soon(deleted).await.unwrap();
    soon(deleted.struck()).await;
    for path in PAIR {
        space.until_empty(path).await;
    }
    assert_returns_after(&deleted, call).await;
}

#[tokio::test]
async fn a_release_of_several_locks_that_is_cut_off_is_repeated_before_the_body_returns() {
    let (space, proxy, client) = connect().await;
    for is_applied in [false, true] {
        let cut = {
            let proxy = proxy.clone();
            move || match is_applied {
                false => drop(proxy.on_request(Opcode::DELETE).cut(How::Rst)),
                true => drop(proxy.on_reply(Opcode::DELETE).cut(How::Rst)),
            }
        };
        let before = proxy.connections();
        assert_eq!(soon(run_pair(client.clone(), cut)).await.unwrap(), 7);
        assert!(proxy.connections() > before, "the connection was cut");
        for path in PAIR {
            assert_eq!(space.children(path).await, [""; 0]);
        }
    }
}

#[tokio::test]
async fn a_call_that_is_dropped_during_its_release_leaves_nothing() {
    let (space, proxy, client) = connect().await;
    let deleting = proxy.on_request(Opcode::DELETE).hold();
    let call = tokio::spawn(zklock::scope(client.clone(), annotated()));
    soon(deleting.struck()).await;
    call.abort();
    assert!(soon(call).await.unwrap_err().is_cancelled());
    deleting.release();
    space.until_empty(PATH).await;
}

//! Bodies whose callers go on when the servers have acknowledged the release.

use tokio::task::JoinHandle;
use zklock::{Client, LockError, Release, distributed_lock};
use zklock_testkit::wire::Opcode;
use zklock_testkit::{Hold, How, Proxy};

use crate::support::{Space, soon};

const PATH: &str = "/orders";
const PAIR: [&str; 2] = ["/orders", "/stock"];

/// Connects a client that has taken and released the locks, so that nothing has to be created for the next call.
async fn connect() -> (Space, Proxy, Client) {
    let space = Space::new();
    let (proxy, client) = space.proxied_with(|config| config.release(Release::Acknowledged)).await;
    client.multi(PAIR).unwrap().lock().await.unwrap().release().await.unwrap();
    (space, proxy, client)
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

async fn run_pair(client: Client) -> Result<u32, LockError> {
    client.multi(PAIR).unwrap().run(async |_| 7).await
}

/// Starts a call, and waits until its delete is on its way to the server, or its answer on the way back.
async fn releasing(
    deleting: &Hold,
    call: impl Future<Output = Result<u32, LockError>> + Send + 'static,
) -> JoinHandle<Result<u32, LockError>> {
    let call = tokio::spawn(call);
    soon(deleting.struck()).await;
    call
}

async fn assert_waits_for_the_answer(
    (space, proxy): (&Space, &Proxy),
    call: impl Future<Output = Result<u32, LockError>> + Send + 'static,
) {
    let deleted = proxy.on_reply(Opcode::DELETE).hold();
    let call = releasing(&deleted, call).await;
    for path in PAIR {
        space.until_empty(path).await;
    }
    assert!(!call.is_finished());
    deleted.release();
    assert_eq!(soon(call).await.unwrap().unwrap(), 7);
}

#[tokio::test]
async fn a_body_returns_after_the_answer_to_the_release_of_its_locks() {
    let (space, proxy, client) = connect().await;
    let (at, mutex) = ((&space, &proxy), client.mutex(PATH).unwrap());
    assert_waits_for_the_answer(at, async move { mutex.run(async |_| 7).await }).await;
    assert_waits_for_the_answer(at, zklock::scope(client.clone(), annotated())).await;
    assert_waits_for_the_answer(at, zklock::scope(client.clone(), annotated_with_guard())).await;
    assert_waits_for_the_answer(at, run_pair(client)).await;
}

#[tokio::test]
async fn a_release_of_several_locks_that_is_cut_off_is_repeated_before_the_body_returns() {
    let (space, proxy, client) = connect().await;
    for is_applied in [false, true] {
        match is_applied {
            false => proxy.on_request(Opcode::DELETE).cut(How::Rst),
            true => proxy.on_reply(Opcode::DELETE).cut(How::Rst),
        };
        let before = proxy.connections();
        assert_eq!(soon(run_pair(client.clone())).await.unwrap(), 7);
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
    let call = releasing(&deleting, zklock::scope(client.clone(), annotated())).await;
    call.abort();
    assert!(soon(call).await.unwrap_err().is_cancelled());
    deleting.release();
    space.until_empty(PATH).await;
}

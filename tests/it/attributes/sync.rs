//! Functions that are not async, called from every place that can call them.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task::{LocalSet, block_in_place, spawn_local};
use zklock::{Client, FencingToken, LockError, distributed_lock};

use super::Tracer;
use crate::requests::{PATIENCE, quiet_client, requests};
use crate::support::{Server, Space, failed, soon};

const PATH: &str = "/ledger";

fn current_thread() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

fn wait_for<T>(future: impl Future<Output = T>) -> T {
    block_in_place(|| Handle::current().block_on(soon(future)))
}

#[distributed_lock(path = PATH, client = client, wait = "20s", guard = held)]
fn take(client: &Client) -> Result<FencingToken, LockError> {
    Ok(held.fencing_token())
}

type Taken = Result<FencingToken, LockError>;

/// The unit tests of `private::blocking` have every other place.
#[test]
fn a_call_waits_for_its_lock_on_a_thread_and_on_a_worker() {
    let (space, outside) = (Space::new(), current_thread());
    let (holder, client) = outside.block_on(async { (space.client().await, space.client().await) });
    let on_a_worker = |client: Client| {
        // Its single worker is blocked by a call, unless the call uses `block_in_place`.
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        runtime.block_on(runtime.spawn(async move { take(&client) })).unwrap()
    };
    let places: [fn(Client) -> Taken; 2] = [|client| take(&client), on_a_worker];
    for take in places {
        let guard = outside.block_on(holder.mutex(PATH).unwrap().lock()).unwrap();
        let client = client.clone();
        let call = std::thread::spawn(move || take(client));
        outside.block_on(space.until_queued(PATH, 2));
        assert!(!call.is_finished());
        let token = guard.fencing_token();
        outside.block_on(guard.release()).unwrap();
        assert!(call.join().unwrap().unwrap() > token);
        outside.block_on(space.until_empty(PATH));
    }
}

#[tokio::test]
async fn a_call_that_would_stop_its_runtime_is_refused_and_nothing_is_sent() {
    let server = Server::start_granting(PATIENCE);
    let client = quiet_client(&server).await;
    let calls = async {
        let in_a_task = tokio::spawn({
            let client = client.clone();
            async move { take(&client) }
        });
        let several = transfer(&client).map(|()| unreachable!("it runs"));
        for (result, at) in [(take(&client), PATH), (in_a_task.await.unwrap(), PATH), (several, "/from")] {
            let error = failed(result);
            assert!(matches!(&error, LockError::WouldBlockRuntime { path } if path == at), "{error}");
        }
    };
    assert_eq!(requests(&server, calls).await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_must_wait_in_a_local_set_panics_as_the_runtime_does_and_leaves_nothing() {
    let (space, client) = Space::with_client().await;
    let call = async { spawn_local(async move { take(&client) }).await };
    let panic = failed(soon(LocalSet::new().run_until(call)).await).into_panic();
    let words = panic.downcast_ref::<String>().expect("the panic has a message");
    assert!(words.starts_with("can call blocking only when running on the multi-threaded"), "{words}");
    space.until_empty(PATH).await;
}

#[distributed_lock(path = ["/from", "/to"], client = client)]
fn transfer(client: &Client) -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = PATH, guard = held)]
fn losing(space: &Space, went_on: &AtomicBool, _tracer: Tracer) -> Result<(), LockError> {
    wait_for(space.delete_children(PATH));
    wait_for(held.lost());
    went_on.store(true, Ordering::SeqCst);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_that_lost_its_lock_ends_and_the_call_says_so() {
    let space = Space::new();
    let (went_on, (tracer, dropped)) = (AtomicBool::new(false), Tracer::new());
    let call = async { losing(&space, &went_on, tracer) };
    let error = failed(zklock::scope(space.client().await, call).await);
    assert!(matches!(&error, LockError::Lost { path, .. } if path == PATH), "{error}");
    assert!(went_on.load(Ordering::SeqCst) && dropped.load(Ordering::SeqCst));
}

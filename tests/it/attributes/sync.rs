//! Functions that are not async, called from every place that can call them.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task::{LocalSet, block_in_place, spawn_blocking, spawn_local};
use zklock::{Client, FencingToken, LockError, distributed_lock};

use super::Tracer;
use crate::requests::{PATIENCE, quiet_client, requests};
use crate::support::{Server, Space, failed, soon};

const PATH: &str = "/ledger";

/// Returns a runtime whose single worker is blocked by a call, unless the call uses `block_in_place`.
fn one_worker() -> Runtime {
    Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
}

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

/// The name of a place, and a call from there.
type Place = (&'static str, fn(Client) -> Taken);

fn places() -> [Place; 8] {
    [
        ("a thread", |client| take(&client)),
        ("a thread inside of a current-thread runtime's context", |client| {
            let runtime = current_thread();
            let _inside = runtime.enter();
            take(&client)
        }),
        ("a thread inside of a multi-thread runtime's context", |client| {
            let runtime = one_worker();
            let _inside = runtime.enter();
            take(&client)
        }),
        ("blocking work of a current-thread runtime", |client| {
            current_thread().block_on(async { spawn_blocking(move || take(&client)).await }).unwrap()
        }),
        ("blocking work of a multi-thread runtime", |client| {
            one_worker().block_on(async { spawn_blocking(move || take(&client)).await }).unwrap()
        }),
        ("a task of a multi-thread runtime", |client| {
            let runtime = one_worker();
            runtime.block_on(runtime.spawn(async move { take(&client) })).unwrap()
        }),
        ("`block_on` of a multi-thread runtime", |client| one_worker().block_on(async { take(&client) })),
        ("a task inside of `block_in_place`", |client| {
            let runtime = one_worker();
            runtime.block_on(runtime.spawn(async move { block_in_place(|| take(&client)) })).unwrap()
        }),
    ]
}

#[test]
fn a_call_waits_for_its_lock_in_every_place_that_may_block() {
    let (space, outside) = (Space::new(), current_thread());
    let (holder, client) = outside.block_on(async { (space.client().await, space.client().await) });
    for (place, take) in places() {
        let guard = outside.block_on(holder.mutex(PATH).unwrap().lock()).unwrap();
        let client = client.clone();
        let call = std::thread::spawn(move || take(client));
        outside.block_on(space.until_queued(PATH, 2));
        assert!(!call.is_finished(), "{place}");
        let token = guard.fencing_token();
        outside.block_on(guard.release()).unwrap();
        assert!(call.join().unwrap().unwrap() > token, "{place}");
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

#[distributed_lock(path = PATH, guard = held)]
fn descend(depth: u32, space: &Space) -> Result<Vec<FencingToken>, LockError> {
    let mut tokens = if depth == 0 { Vec::new() } else { descend(depth - 1, space)? };
    assert_eq!(wait_for(space.children(PATH)).len(), 1);
    tokens.push(held.fencing_token());
    Ok(tokens)
}

#[distributed_lock(path = PATH, guard = held)]
async fn outer(space: &Space) -> Result<Vec<FencingToken>, LockError> {
    let mut tokens = descend(2, space)?;
    assert!(held.is_held(), "the inner calls do not release");
    tokens.push(held.fencing_token());
    Ok(tokens)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_nested_call_enters_the_same_lock_without_another_contender() {
    let (space, client) = Space::with_client().await;
    let tokens = zklock::scope(client.clone(), async { descend(3, &space) }).await.unwrap();
    assert_eq!(tokens, [tokens[0]; 4]);
    let tokens = zklock::scope(client, outer(&space)).await.unwrap();
    assert_eq!(tokens, [tokens[0]; 4]);
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

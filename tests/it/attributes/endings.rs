//! The lock is released however a body ends.

use std::future::pending;
use std::io;
use std::sync::atomic::Ordering;

use tokio::sync::oneshot;
use zklock::{LockError, distributed_lock};

use super::Tracer;
use crate::support::{Space, failed, soon};

#[derive(Clone, Copy, Debug)]
enum By {
    Question,
    Return,
    Tail,
}

#[distributed_lock(path = "/errors")]
async fn failing(by: By) -> io::Result<u64> {
    match by {
        By::Question => Ok("seven".parse::<u64>().map_err(io::Error::other)?),
        By::Return => return Err(io::ErrorKind::NotFound.into()),
        By::Tail => Err(io::ErrorKind::NotFound.into()),
    }
}

#[tokio::test]
async fn an_error_leaves_with_the_lock_released() {
    let (space, client) = Space::with_client().await;
    for by in [By::Question, By::Return, By::Tail] {
        let error = failed(zklock::scope(client.clone(), failing(by)).await);
        assert_eq!(matches!(by, By::Question), error.kind() == io::ErrorKind::Other);
        space.until_empty("/errors").await;
    }
}

#[distributed_lock(path = "/returns")]
async fn returning(early: bool) -> Result<&'static str, LockError> {
    if early {
        return Ok("early");
    }
    Ok("late")
}

#[tokio::test]
async fn a_return_leaves_the_body_and_not_the_lock() {
    let (space, client) = Space::with_client().await;
    for (early, expected) in [(true, "early"), (false, "late")] {
        assert_eq!(zklock::scope(client.clone(), returning(early)).await.unwrap(), expected);
        space.until_empty("/returns").await;
    }
}

#[distributed_lock(path = "/panics")]
async fn panicking() -> Result<(), LockError> {
    tokio::task::yield_now().await;
    panic!("out of hay");
}

#[tokio::test]
async fn a_panic_goes_on_and_the_lock_is_released() {
    let space = Space::new();
    let call = tokio::spawn(zklock::scope(space.client().await, panicking()));
    let panic = failed(soon(call).await).into_panic();
    assert_eq!(panic.downcast_ref(), Some(&"out of hay"));
    space.until_empty("/panics").await;
}

#[distributed_lock(path = "/endless", wait = "60s")]
async fn endless(started: oneshot::Sender<()>, _tracer: Tracer) -> Result<(), LockError> {
    started.send(()).expect("the test waits for the start");
    pending().await
}

#[tokio::test]
async fn dropping_the_call_drops_the_body_and_releases() {
    let space = Space::new();
    let (tracer, dropped) = Tracer::new();
    let (start, started) = oneshot::channel();
    let call = zklock::scope(space.client().await, endless(start, tracer));
    tokio::select! {
        result = call => panic!("an endless body ended: {result:?}"),
        started = soon(started) => started.unwrap(),
    }
    assert!(dropped.load(Ordering::SeqCst));
    space.until_empty("/endless").await;
}

#[tokio::test]
async fn dropping_a_call_that_waits_leaves_the_queue() {
    let (space, client) = Space::with_client().await;
    let holder = space.client().await.mutex("/endless").unwrap().lock().await.unwrap();
    let (start, mut started) = oneshot::channel();
    let call = zklock::scope(client, endless(start, Tracer::default()));
    tokio::select! {
        result = call => panic!("an endless body ended: {result:?}"),
        () = space.until_queued("/endless", 2) => {}
    }
    space.until_queued("/endless", 1).await;
    assert!(holder.is_held());
    assert_eq!(started.try_recv(), Err(oneshot::error::TryRecvError::Closed), "the body never started");
}

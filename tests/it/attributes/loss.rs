//! A body does not outlive its lock.

use std::future::pending;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::oneshot;
use zklock::{LockError, LossReason, distributed_lock};

use super::Tracer;
use crate::support::{Space, failed, soon};

#[distributed_lock(path = "/lost")]
async fn losing(
    _tracer: Tracer,
    started: oneshot::Sender<()>,
    went_on: Arc<AtomicBool>,
) -> Result<(), LockError> {
    started.send(()).expect("the test waits for the start");
    pending::<()>().await;
    went_on.store(true, Ordering::SeqCst);
    Ok(())
}

#[tokio::test]
async fn a_body_is_dropped_before_the_call_says_that_the_lock_was_lost() {
    let space = Space::new();
    let (tracer, dropped) = Tracer::new();
    let (went_on, (start, started)) = (Arc::new(AtomicBool::new(false)), oneshot::channel());
    let mut call = pin!(zklock::scope(space.client().await, losing(tracer, start, went_on.clone())));
    tokio::select! {
        result = call.as_mut() => panic!("an endless body ended: {result:?}"),
        () = async { soon(started).await.unwrap(); space.delete_children("/lost").await } => {}
    }
    let error = failed(soon(call.as_mut()).await);
    assert!(
        matches!(&error, LockError::Lost { path, reason: LossReason::NodeDeleted, .. } if path == "/lost")
    );
    assert!(dropped.load(Ordering::SeqCst));
    assert!(!went_on.load(Ordering::SeqCst));
}

#[distributed_lock(path = "/lost/{name}", guard = held)]
async fn finishing(name: &str, space: &Space) -> Result<(), LockError> {
    space.delete_children(&format!("/lost/{name}")).await;
    held.lost().await;
    Ok(())
}

#[distributed_lock(path = "/lost/{name}", wait = "60s")]
async fn nesting(name: &str, space: &Space, entered: &AtomicBool) -> Result<(), LockError> {
    let result = finishing(name, space).await;
    entered.store(true, Ordering::SeqCst);
    result
}

#[tokio::test]
async fn a_loss_ends_every_level_of_a_nested_call() {
    let space = Space::new();
    let went_on = AtomicBool::new(false);
    let call = zklock::scope(space.client().await, nesting("b", &space, &went_on));
    assert!(failed(soon(call).await).is_lost());
    assert!(!went_on.load(Ordering::SeqCst));
    space.until_empty("/lost/b").await;
}

//! Bodies that run to their end even if leadership is lost or given up.

use std::pin::pin;

use futures_util::poll;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use zklock::{Client, FencingToken, LockError, LossReason, Policy, leader_only};
use zklock_testkit::How;

use crate::support::{Space, failed, soon, until, until_leads};

const PATH: &str = "/leader";

/// A running body, and the means to end it.
struct Work {
    token: FencingToken,
    end: oneshot::Sender<()>,
    call: JoinHandle<Result<(), LockError>>,
}

impl Work {
    async fn begin(client: &Client) -> Self {
        let ((begin, begun), (end, ends)) = (oneshot::channel(), oneshot::channel());
        until_leads(client, PATH).await;
        let call = tokio::spawn(zklock::scope(client.clone(), work(begin, ends)));
        Self { token: soon(begun).await.unwrap(), end, call }
    }

    /// Ends the body, and returns the reason why the call failed.
    async fn end(self) -> LossReason {
        self.end.send(()).expect("the body was not dropped");
        match failed(soon(self.call).await.unwrap()) {
            LockError::Lost { path, reason, .. } if path == PATH => reason,
            other => panic!("{other}"),
        }
    }
}

#[leader_only(on_lost = finish, guard = term)]
async fn work(begun: oneshot::Sender<FencingToken>, ends: oneshot::Receiver<()>) -> Result<(), LockError> {
    begun.send(term.fencing_token()).expect("the test waits for the start");
    ends.await.expect("it is told to end");
    Ok(())
}

/// Checks for 20 round trips that leadership is not handed on.
async fn assert_kept(space: &Space, next: &Client) {
    for _ in 0..20 {
        assert_eq!(space.children(PATH).await.len(), 2);
        assert!(!next.leader(PATH).unwrap().is_leader());
    }
}

#[tokio::test]
async fn an_office_that_is_resigned_is_handed_on_when_the_body_has_ended() {
    let (space, [first, second]) = Space::with_clients().await;
    let work = Work::begin(&first).await;
    assert!(!second.leader(PATH).unwrap().join().await.unwrap());
    space.until_queued(PATH, 2).await;
    soon(first.leader(PATH).unwrap().resign()).await;
    assert!(!first.leader(PATH).unwrap().is_leader());
    assert_kept(&space, &second).await;
    assert_eq!(work.end().await, LossReason::Resigned);
    soon(second.leader(PATH).unwrap().leadership()).await.unwrap();
}

#[tokio::test]
async fn an_office_that_is_given_up_in_a_short_outage_is_kept_for_the_body() {
    let space = Space::new();
    let ((proxy, first), second) = (space.proxied().await, space.client().await);
    let latch = first.election(PATH).unwrap().policy(Policy::GiveUpWhenSuspended).latch();
    let term = soon(latch.leadership()).await.unwrap();
    let (end, ends) = oneshot::channel::<()>();
    let mut body = pin!(term.run_to_end(ends));
    assert!(poll!(&mut body).is_pending());
    assert!(!second.leader(PATH).unwrap().join().await.unwrap());
    space.until_queued(PATH, 2).await;
    proxy.cut(How::Rst);
    assert_eq!(soon(term.lost()).await, LossReason::Suspended);
    assert_kept(&space, &second).await;
    assert!(!latch.is_leader(), "the next term begins after the body");
    end.send(()).expect("the body was not dropped");
    let error = failed(soon(body).await);
    assert!(matches!(error, LockError::Lost { reason: LossReason::Suspended, .. }), "{error}");
    assert!(soon(latch.leadership()).await.unwrap().fencing_token() > term.fencing_token());
    assert!(!second.leader(PATH).unwrap().is_leader());
}

#[tokio::test]
async fn a_body_whose_session_has_ended_goes_on_beside_the_next_leader() {
    let (space, [first, second]) = Space::with_clients().await;
    let work = Work::begin(&first).await;
    let next = second.leader(PATH).unwrap();
    assert!(!next.join().await.unwrap());
    space.end_session_of(&first);
    assert!(soon(next.leadership()).await.unwrap().fencing_token() > work.token);
    // A session that is ended by force is over before its client is told.
    until(|| async { !first.leader(PATH).unwrap().is_leader() }, "the first is told").await;
    assert!(!work.call.is_finished());
    let reason = work.end().await;
    assert!(
        matches!(reason, LossReason::SessionEnded | LossReason::NodeDeleted | LossReason::Suspended),
        "{reason}"
    );
}

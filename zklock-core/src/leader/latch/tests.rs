//! Tests of the latch.

use std::pin::pin;
use std::sync::mpsc;
use std::task::{Context, Wake};
use std::thread;

use futures_util::FutureExt;
use zklock_testkit::wire::Opcode;
use zklock_testkit::{EmbeddedServer, How};

use super::*;
use crate::Policy;
use crate::client::{Client, connect, connected, proxied, soon};

/// A term that no candidate watches, so that the first look after its loss tells of its end.
struct Unwatched {
    client: Client,
    term: Leadership,
    _server: EmbeddedServer,
}

impl Unwatched {
    async fn begin() -> Self {
        let (server, client) = connected().await;
        let watched = client.leader("/a").unwrap().leadership().await.unwrap();
        let election = client.election("/a").unwrap().without_client();
        let term = Leadership::begin(&election, watched.shares()[0].lease(), 1);
        Self { client, term, _server: server }
    }

    /// Checks that the look that tells of the end of the term wakes others while another thread can publish: the thread of
    /// the client waits for a lock that is held meanwhile, and so does a look of the task that is woken.
    fn check(&self, publish: impl Fn() + Clone + Send + Sync + 'static, look: impl FnOnce()) {
        let (tell, told) = mpsc::channel();
        let task = Arc::new(Inline(move || {
            let (publish, (published, wait)) = (publish.clone(), mpsc::channel());
            thread::spawn(move || {
                publish();
                published.send(()).ok();
            });
            tell.send(wait.recv_timeout(LONG)).expect("the test waits");
        }));
        let token = self.term.cancellation_token();
        let over = pin!(token.cancelled());
        assert!(over.poll(&mut Context::from_waker(&task.into())).is_pending());
        self.term.shares()[0].lease().lose(LossReason::LeaseExpired);
        look();
        assert_eq!(told.try_recv().expect("the look ends the term"), Ok(()), "a lock is held");
    }
}

/// A task that runs in the thread that wakes it.
struct Inline<F>(F);

impl<F: Fn() + Send + Sync + 'static> Wake for Inline<F> {
    fn wake(self: Arc<Self>) {
        (self.0)();
    }
}

const LONG: Duration = Duration::from_secs(5);

/// Checks a look at a latch whose term is lost.
async fn check(look: impl FnOnce(&LeaderLatch)) {
    let scene = Unwatched::begin().await;
    let election = scene.client.election("/a").unwrap();
    let (told, position) = watch::channel(Position::Leads(scene.term.clone()));
    let since = Instant::now();
    let latch = LeaderLatch { election, position, close: CancellationToken::new(), since };
    let told = Arc::new(told);
    scene.check(move || drop(told.send_replace(Position::Follows)), || look(&latch));
}

#[tokio::test]
async fn a_look_that_tells_of_the_end_of_the_term_wakes_others_without_a_lock() {
    check(|latch| assert!(!latch.is_leader())).await;
    check(|latch| assert!(latch.current().is_none())).await;
    check(|latch| drop(latch.leadership().now_or_never())).await;
    check(|latch| assert_eq!(latch.changes().next().now_or_never(), Some(Some(false)))).await;
    check(LeaderLatch::leave).await;
}

#[tokio::test]
async fn a_leader_that_resigns_as_its_connection_breaks_goes_to_the_tail() {
    let (server, proxy, client) = proxied().await;
    let other = connect(&server).await;
    let election = client.election("/a").unwrap().policy(Policy::GiveUpWhenSuspended);
    let latch = election.latch();
    let term = soon(latch.leadership()).await.unwrap();
    let successor = other.leader_latch("/a").unwrap();
    soon(successor.settled()).await.unwrap();
    // Resigns while the thread of the client ends the term because of the connection.
    let (resigned, mut position) = (term.clone(), latch.position.clone());
    let task = Arc::new(Inline(move || resigned.resign()));
    position.borrow_and_update();
    let mut changed = pin!(position.changed());
    assert!(changed.as_mut().poll(&mut Context::from_waker(&task.into())).is_pending());
    proxy.cut(How::Rst);
    assert_eq!(soon(term.lost()).await, LossReason::Resigned);
    soon(successor.leadership()).await.unwrap();
}

#[tokio::test]
async fn a_leader_with_a_write_of_unknown_outcome_goes_to_the_tail_when_its_connection_breaks() {
    let (server, proxy, client) = proxied().await;
    let other = connect(&server).await;
    let latch = client.election("/a").unwrap().policy(Policy::GiveUpWhenSuspended).latch();
    let term = soon(latch.leadership()).await.unwrap();
    let successor = other.leader_latch("/a").unwrap();
    soon(successor.settled()).await.unwrap();
    proxy.on_request(Opcode::MULTI).cut(How::Rst);
    let unknown = soon(term.upsert("/b", "")).await.unwrap_err();
    assert!(matches!(unknown, LockError::OutcomeUnknown { .. }), "{unknown}");
    soon(successor.leadership()).await.unwrap();
}

//! The ends of terms, values of a term that are kept, and the events between an election, a callback and a close.

use std::future::{pending, ready};
use std::pin::pin;
use std::time::{Duration, Instant};

use futures_util::poll;
use tokio::sync::{mpsc, oneshot};
use zklock::{Ended, Leader, LockError, LossReason, Policy};
use zklock_testkit::wire::Opcode;
use zklock_testkit::{How, Proxy};
use zookeeper_client as zk;

use super::select;
use crate::support::{Space, failed, lead, soon, until};

const PATH: &str = "/sweeper";
const AN_HOUR: Duration = Duration::from_secs(3_600);

/// Blocks the caller's runtime, as a busy task would, until a condition holds.
fn block_until(condition: impl Fn() -> bool) {
    let started = Instant::now();
    while !condition() {
        assert!(started.elapsed() < crate::support::SOON, "the condition did not hold in time");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[tokio::test]
async fn a_callback_whose_term_ended_before_its_runtime_came_to_it_runs_only_when_asked_again() {
    for is_interrupted in [false, true] {
        let (space, client) = Space::with_client().await;
        let (selector, mut led) = select(client.election(PATH).unwrap());
        block_until(|| selector.has_leadership());
        if is_interrupted {
            selector.interrupt();
        } else {
            space.end_session_of(&client);
        }
        block_until(|| !selector.has_leadership());
        space.until_empty(PATH).await;
        assert!(led.try_recv().is_err());
        assert!(selector.requeue());
        soon(led.recv()).await.unwrap();
    }
}

#[tokio::test]
async fn a_term_is_over_in_the_moment_in_which_it_is_resigned_and_has_one_end() {
    let (space, client) = Space::with_client().await;
    let (latch, term) = lead(&client, PATH).await;
    term.resign();
    assert!(!term.is_leading());
    assert!(term.cancellation_token().is_cancelled());
    assert!(failed(term.run(ready(())).await).is_lost());
    assert!(failed(term.run_to_end(async { unreachable!() }).await).is_lost());
    assert!(failed(term.run_blocking(|| unreachable!())).is_lost());
    assert!(failed(term.once_per("/ticks/term", AN_HOUR).await).is_lost());
    assert!(failed(term.verify().await).is_lost());
    let next = soon(latch.leadership()).await.unwrap();
    assert!(next.fencing_token() > term.fencing_token());
    space.end_session_of(&client);
    soon(next.lost()).await;
    assert_eq!(soon(term.lost()).await, LossReason::Resigned);
}

#[tokio::test]
async fn a_hold_down_follows_a_loss_and_not_a_resignation() {
    let (space, client) = Space::with_client().await;
    let first = client.election(PATH).unwrap().hold_down(AN_HOUR).latch();
    soon(first.leadership()).await.unwrap().resign();
    let term = soon(first.leadership()).await.unwrap();
    let second = space.client().await.leader_latch(PATH).unwrap();
    space.until_queued(PATH, 2).await;
    space.end_session_of(&client);
    soon(term.lost()).await;
    soon(second.leadership()).await.unwrap();
}

#[tokio::test]
async fn an_elected_candidate_waits_for_the_hand_over_and_leaves_meanwhile_when_it_is_closed() {
    let (space, pause) = (Space::new(), Duration::from_millis(300));
    let client = space.client().await;
    let elected = Instant::now();
    let first = client.election(PATH).unwrap().handover(pause).latch();
    let term = soon(first.leadership()).await.unwrap();
    assert!(elected.elapsed() >= pause);
    let second = space.client().await.election(PATH).unwrap().handover(AN_HOUR).latch();
    space.until_queued(PATH, 2).await;
    first.close().await.unwrap();
    assert!(!term.is_leading());
    until(async || second.leader().await.unwrap().is_some(), "the second is elected").await;
    assert!(!second.is_leader());
    soon(second.close()).await.unwrap();
    space.until_empty(PATH).await;
}

/// It waits for the whole grace period.
#[tokio::test]
async fn a_body_that_nobody_polls_any_more_does_not_keep_the_office_for_ever() {
    let (space, [client, other]) = Space::with_clients().await;
    let (_first, term) = lead(&client, PATH).await;
    let second = other.leader_latch(PATH).unwrap();
    space.until_queued(PATH, 2).await;
    let mut body = pin!(term.run(pending::<()>()));
    assert!(poll!(&mut body).is_pending());
    term.resign();
    soon(second.leadership()).await.unwrap();
    assert!(failed(body.await).is_lost());
}

async fn assert_kept(space: &Space, next: &Leader) {
    for _ in 0..20 {
        assert_eq!(space.children(PATH).await.len(), 2);
        assert!(!next.is_leader());
    }
}

#[rstest::rstest]
#[tokio::test]
async fn an_office_is_kept_for_a_body_that_runs_to_its_end_unless_the_session_has_ended(
    #[values(LossReason::Resigned, LossReason::Suspended, LossReason::SessionEnded)] cause: LossReason,
) {
    let space = Space::new();
    let ((proxy, client), other) = (space.proxied().await, space.client().await);
    let election = client.election(PATH).unwrap();
    let latch = match cause {
        LossReason::Suspended => election.policy(Policy::GiveUpWhenSuspended).latch(),
        _ => election.latch(),
    };
    let term = soon(latch.leadership()).await.unwrap();
    let (end, ends) = oneshot::channel();
    let mut body = pin!(term.run_to_end(ends));
    assert!(poll!(&mut body).is_pending());
    let next = other.leader(PATH).unwrap();
    assert!(!next.join().await.unwrap());
    space.until_queued(PATH, 2).await;
    match cause {
        LossReason::Resigned => term.resign(),
        LossReason::Suspended => proxy.cut(How::Rst),
        _ => space.end_session_of(&client),
    }
    // A session that is ended by force is over before its client is told.
    let reason = soon(term.lost()).await;
    if cause == LossReason::SessionEnded {
        assert!(soon(next.leadership()).await.unwrap().fencing_token() > term.fencing_token());
    } else {
        assert_eq!(reason, cause);
        assert_kept(&space, &next).await;
        assert!(!latch.is_leader(), "the next term begins after the body");
    }
    end.send(()).expect("the body was not dropped");
    let error = failed(soon(body).await);
    assert!(matches!(error, LockError::Lost { reason: told, .. } if told == reason), "{error}");
    if cause == LossReason::Suspended {
        assert!(soon(latch.leadership()).await.unwrap().fencing_token() > term.fencing_token());
        assert!(!next.is_leader());
    } else {
        soon(next.leadership()).await.unwrap();
    }
}

#[tokio::test]
async fn a_candidate_closed_at_any_time_is_gone_when_its_close_returns() {
    let space = Space::new();
    let (client, outsider) = (space.client().await, space.outsider().await);
    let (leader, _term) = lead(&space.client().await, PATH).await;
    for round in 0..200 {
        let latch = client.leader_latch(PATH).unwrap();
        // Latches and selectors must not share a path.
        let selector = client.election("/other").unwrap().select(|_| pending::<()>());
        tokio::time::sleep(Duration::from_micros(50) * (round % 40)).await;
        let (closed, ended) = tokio::join!(latch.close(), selector.close());
        closed.unwrap();
        assert!(matches!(ended.unwrap(), Ended::Closed));
        assert_eq!(outsider.list_children(&space.full(PATH)).await.unwrap().len(), 1);
        match outsider.list_children(&space.full("/other")).await {
            Err(zk::Error::NoNode) => {}
            left => assert_eq!(left.unwrap(), [""; 0]),
        }
    }
    assert!(leader.is_leader());
}

#[tokio::test]
async fn failures_of_a_callback_are_followed_by_pauses_that_grow() {
    let space = Space::new();
    let (told, mut led) = mpsc::unbounded_channel();
    let election = space.client().await.election(PATH).unwrap().auto_requeue();
    let _selector = election.select(move |_| {
        told.send(Instant::now()).unwrap();
        ready(Err::<(), _>("no disk"))
    });
    let mut times = Vec::new();
    for _ in 0..4 {
        times.push(soon(led.recv()).await.unwrap());
    }
    for (pair, least) in times.windows(2).zip([50, 100, 200]) {
        assert!(pair[1] - pair[0] >= Duration::from_millis(least));
    }
}

/// Returns the number of requests for leases, which are their heartbeats while nothing else is done. A session without
/// leases sends pings, and reads of the root.
fn heartbeats(proxy: &Proxy) -> u64 {
    proxy.requests_total() - proxy.requests(Opcode::PING) - proxy.requests(Opcode::EXISTS)
}

/// Checks that the client behind the proxy sends no heartbeat of a lease while another client, which leads, sends several.
/// One that is under way may be sent in the first two of three such periods.
async fn assert_no_heartbeats(space: &Space, proxy: &Proxy) {
    let (witness, other) = space.proxied().await;
    let _leads = lead(&other, "/witness").await;
    let mut sent = Vec::new();
    while sent.len() < 3 && sent.last() != Some(&0) {
        let (before, seen) = (heartbeats(proxy), heartbeats(&witness));
        until(|| async { heartbeats(&witness) >= seen + 5 }, "a leader sends heartbeats").await;
        sent.push(heartbeats(proxy) - before);
    }
    assert_eq!(sent.last(), Some(&0), "a client without a lease sends heartbeats: {sent:?}");
}

#[tokio::test]
async fn a_term_or_a_guard_that_is_kept_after_its_end_costs_no_heartbeats() {
    let space = Space::quick();
    let (proxy, client) = space.proxied().await;
    let (latch, term) = lead(&client, PATH).await;
    latch.close().await.unwrap();
    assert_no_heartbeats(&space, &proxy).await;
    assert_eq!(soon(term.lost()).await, LossReason::Resigned);
    let guard = client.mutex("/deleted").unwrap().lock().await.unwrap();
    // One that listens looks at its node again and again.
    guard.on_revoke(|| ());
    space.delete_children("/deleted").await;
    assert_eq!(soon(guard.lost()).await, LossReason::NodeDeleted);
    assert_no_heartbeats(&space, &proxy).await;
    assert!(!guard.is_held() && !term.is_leading());
}

#[tokio::test]
async fn a_term_that_is_kept_after_its_latch_was_closed_does_not_delay_a_shutdown() {
    let space = Space::new();
    let mut fastest = Duration::MAX;
    for _ in 0..3 {
        let client = space.client().await;
        let (latch, term) = lead(&client, PATH).await;
        latch.close().await.unwrap();
        let started = Instant::now();
        soon(client.shutdown(Duration::ZERO)).await;
        fastest = fastest.min(started.elapsed());
        assert!(!term.is_leading());
    }
    // A client that waits for a lease waits for two seconds each time.
    assert!(fastest < Duration::from_secs(1), "each shutdown took {fastest:?} or longer");
}

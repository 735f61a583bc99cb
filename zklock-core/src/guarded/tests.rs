//! Guarded writes and reads under faults.

use std::sync::mpsc;

use futures_util::poll;
use zklock_testkit::wire::Opcode;
use zklock_testkit::{EmbeddedServer, How, Proxy};

use super::*;
use crate::client::{proxy, soon};
use crate::lease::writes::Writing;
use crate::{Config, Guard, Heartbeat, MutexGuard, Policy};

/// A server, and a configuration of clients whose only transactions are their guarded writes.
fn proxy_and_config() -> (EmbeddedServer, Proxy, Config) {
    let (server, proxy) = proxy();
    let config = Config::new(proxy.connect_string()).heartbeat(Heartbeat::Read);
    (server, proxy, config)
}

/// A holder whose only transactions are those of its reads and guarded writes.
async fn proxied() -> (EmbeddedServer, Proxy, MutexGuard) {
    let (server, proxy, config) = proxy_and_config();
    let guard = config.connect().await.unwrap().mutex("/a").unwrap().lock().await.unwrap();
    guard.create("/data", "x").await.unwrap();
    (server, proxy, guard)
}

fn writing<K>(guard: &Guard<K>) -> Vec<Writing> {
    guard.holds().iter().map(|hold| hold.lease().writing()).collect()
}

#[tokio::test]
async fn a_write_is_under_way_from_its_first_step_until_it_is_answered() {
    let (_server, proxy, guard) = proxied().await;
    let held = proxy.on_reply(Opcode::MULTI).hold();
    // The client's thread stands still, so the write's task does not run yet.
    let (go_on, stopped) = mpsc::channel::<()>();
    guard.client().worker().tasks.spawn(async move {
        stopped.recv().ok();
    });
    let mut write = Box::pin(guard.set_data("/data", "y"));
    assert_eq!(writing(&guard), [Writing::Idle]);
    assert!(poll!(&mut write).is_pending());
    assert_eq!(writing(&guard), [Writing::UnderWay]);
    drop(go_on);
    soon(held.struck()).await;
    assert_eq!(writing(&guard), [Writing::UnderWay]);
    held.release();
    soon(write).await.unwrap();
    assert_eq!(writing(&guard), [Writing::Idle]);
}

#[tokio::test]
async fn a_write_that_takes_longer_than_the_clients_wait_is_doubtful_and_stays_so() {
    let (server, proxy, config) = proxy_and_config();
    let client = config.default_wait(Duration::from_secs(2)).connect().await.unwrap();
    let guard = client.mutex("/a").unwrap().lock().await.unwrap();
    let held = proxy.on_request(Opcode::MULTI).hold();
    let written = soon(guard.create("/late", "x")).await;
    assert!(matches!(written, Err(LockError::OutcomeUnknown { .. })), "{written:?}");
    assert_eq!(writing(&guard), [Writing::Doubtful]);
    assert!(server.node("/late").is_none());
    held.release();
    guard.create("/behind", "x").await.unwrap();
    assert!(server.node("/late").is_some());
    assert_eq!(writing(&guard), [Writing::Doubtful]);
}

#[tokio::test]
async fn the_task_of_a_client_that_has_ended_sends_nothing_and_leaves_no_doubt() {
    let (server, _proxy, config) = proxy_and_config();
    let client = config.connect().await.unwrap();
    let guard = client.mutex("/a").unwrap().lock().await.unwrap();
    let permit = WritePermit::take(&[guard.holds()[0].share().clone()]).unwrap();
    soon(client.shutdown(Duration::ZERO)).await;
    let create = ("/data", Write::Create(Vec::new()));
    let written = guard.write_within(permit, client.default_wait(), create).await;
    assert!(matches!(written, Err(LockError::OutcomeUnknown { .. })), "{written:?}");
    assert_eq!(writing(&guard), [Writing::Idle]);
    assert!(server.node("/data").is_none());
}

#[tokio::test]
async fn a_write_of_a_term_that_ends_while_it_waits_for_a_connection_is_not_applied() {
    let (server, proxy, config) = proxy_and_config();
    let client = config.connect().await.unwrap();
    let election = client.election("/a").unwrap().policy(Policy::GiveUpWhenSuspended);
    let latch = election.latch();
    let term = soon(latch.leadership()).await.unwrap();
    // The client's thread stands still, so that the write begins before the broken connection is noticed.
    let (go_on, stopped) = mpsc::channel::<()>();
    let (stop, stands_still) = tokio::sync::oneshot::channel();
    client.worker().tasks.spawn(async move {
        stop.send(()).ok();
        stopped.recv().ok();
    });
    soon(stands_still).await.unwrap();
    proxy.refuse();
    proxy.cut(How::Rst);
    tokio::time::sleep(Duration::from_millis(300)).await;
    let mut write = Box::pin(term.create("/data", "x"));
    let begun = poll!(&mut write);
    assert!(begun.is_pending(), "{begun:?}");
    drop(go_on);
    soon(term.lost()).await;
    proxy.heal();
    let written = soon(write).await;
    assert!(matches!(written, Err(LockError::Lost { .. } | LockError::OutcomeUnknown { .. })), "{written:?}");
    soon(latch.leadership()).await.unwrap();
    assert!(server.node("/data").is_none());
}

#[test]
fn the_answer_to_a_request_decides_the_next_one() {
    let set = || Write::SetData(b"x".to_vec());
    let create = |parents| Write::CreateBelow { parents, data: b"x".to_vec() };
    assert_eq!(next_write(set(), &Refusal::NoNode), Some(create(0)));
    assert_eq!(next_write(create(0), &Refusal::NoNode), Some(create(1)));
    assert_eq!(next_write(create(1), &Refusal::NoNode), Some(create(2)));
    assert_eq!(next_write(create(2), &Refusal::NodeExists), Some(set()));
    for write in [set(), create(0)] {
        assert_eq!(next_write(write.clone(), &Refusal::BadVersion), None);
        assert_eq!(next_write(write, &Refusal::Other("no children for ephemerals".into())), None);
    }
    assert_eq!(next_write(set(), &Refusal::NodeExists), None);
}

#[tokio::test]
async fn nothing_is_sent_after_a_request_of_unknown_outcome() {
    for nth in 1..=3 {
        let (server, proxy, guard) = proxied().await;
        // The first request replaces the data, the second one creates the node, and the third one its parent too.
        let cut = proxy.on_reply(Opcode::MULTI).nth(nth).cut(How::Fin);
        let written = guard.upsert("/ledgers/7", "x").await;
        assert!(matches!(written, Err(LockError::OutcomeUnknown { .. })), "{nth}: {written:?}");
        assert_eq!(cut.hits(), 1);
        assert_eq!(server.node("/ledgers/7").is_some(), nth == 3, "{nth}");
    }
}

#[tokio::test]
async fn parents_and_node_are_created_in_one_step() {
    let (server, proxy, guard) = proxied().await;
    let held = proxy.on_request(Opcode::MULTI).nth(3).hold();
    let write = guard.upsert("/ledgers/7", "x");
    let outsider = async {
        held.struck().await;
        assert!(server.node("/ledgers").is_none());
        held.release();
    };
    let (written, ()) = tokio::join!(write, outsider);
    written.unwrap();
    assert!(server.node("/ledgers/7").is_some());
}

#[tokio::test]
async fn data_that_was_read_before_the_node_was_deleted_is_not_returned_after_it() {
    let (server, proxy, guard) = proxied().await;
    // The read is answered, and the look for the node is not sent yet.
    let held = proxy.on_request(Opcode::MULTI).hold();
    let mut read = Box::pin(guard.get("/data"));
    assert!(poll!(&mut read).is_pending());
    soon(held.struck()).await;
    server.delete("/a");
    held.release();
    let read = soon(read).await;
    assert!(matches!(read, Err(LockError::Lost { .. })), "{read:?}");
}

#[tokio::test]
async fn data_is_not_returned_after_a_loss_that_became_known_during_the_read() {
    let (_server, proxy, guard) = proxied().await;
    let held = proxy.on_reply(Opcode::MULTI).hold();
    let mut read = Box::pin(guard.get("/data"));
    assert!(poll!(&mut read).is_pending());
    soon(held.struck()).await;
    assert_eq!(writing(&guard), [Writing::UnderWay], "a later holder of the same node waits for the answer");
    guard.holds()[0].lease().lose(LossReason::LeaseExpired);
    held.release();
    let read = soon(read).await;
    assert_eq!(writing(&guard), [Writing::Idle]);
    assert!(matches!(read, Err(LockError::Lost { reason: LossReason::LeaseExpired, .. })), "{read:?}");
}

#[tokio::test]
async fn a_read_is_repeated_after_a_broken_connection_and_leaves_no_doubt() {
    let (_server, proxy, guard) = proxied().await;
    for opcode in [Opcode::GET_DATA, Opcode::MULTI] {
        let cut = proxy.on_reply(opcode).cut(How::Fin);
        assert_eq!(soon(guard.get("/data")).await.unwrap(), Some(b"x".to_vec()));
        assert_eq!((cut.hits(), writing(&guard)), (1, vec![Writing::Idle]));
    }
}

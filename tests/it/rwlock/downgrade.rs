//! Writers that go on as readers, also while the connection breaks and requests on the lock are under way.
//! `contract::interruptions` has the breaks at each frame.

use std::time::{Duration, Instant};

use tokio::task::JoinHandle;
use tokio::time::sleep;
use zklock::{Config, LeaseState, LockError, LossReason, Phase, Queueing, ReadGuard};
use zklock_testkit::wire::Opcode;
use zklock_testkit::{Direction, How};

use super::{PATH, queue, rwlock, sequence, side, spawn_read, spawn_write, until_waiting, write};
use crate::support::{Server, Space, failed, soon, until};

/// Waits until the writer's node, the first one of the queue, has become a reader's, and returns its name.
async fn until_downgraded(space: &Space) -> String {
    until(|| async { side(&queue(space).await[0]) == "__READ__" }, "the writer is a reader").await;
    queue(space).await.remove(0)
}

#[tokio::test]
async fn one_transaction_puts_a_reader_with_the_writers_sequence_in_its_place() {
    let space = Space::new();
    let client = space.config().identity("node-7").connect().await.unwrap();
    write(&client).await.release().await.unwrap();
    let writer = write(&client).await;
    let before = queue(&space).await;
    let token = writer.fencing_token();
    let reader = writer.downgrade().await.unwrap();
    let after = queue(&space).await;
    assert_eq!((before.len(), after.len()), (1, 1));
    assert_eq!((side(&before[0]), side(&after[0])), ("__WRIT__", "__READ__"));
    assert_eq!((sequence(&before[0]), sequence(&after[0])), ("0000000001", "0000000001"));
    assert_eq!(after[0].len(), before[0].len());
    assert!(after[0].starts_with("_c_"));

    let outsider = space.outsider().await;
    let node = space.full(&format!("{PATH}/{}", after[0]));
    let (data, stat) = outsider.get_data(&node).await.unwrap();
    assert_eq!((data, Some(stat.ephemeral_owner)), (b"node-7".to_vec(), client.session_id()));
    let parent = outsider.check_stat(&space.full(PATH)).await.unwrap().unwrap();
    assert_eq!(stat.czxid, parent.pzxid, "the last change of the children was the reader's creation");
    assert_eq!((reader.fencing_token(), reader.state()), (token, LeaseState::Held));
    assert!(matches!(failed(reader.scope(rwlock(&client).write()).await), LockError::Upgrade { .. }));
}

#[tokio::test]
async fn readers_that_wait_behind_the_writer_are_let_in_and_those_behind_the_next_writer_are_not() {
    let (space, [a, b, c, d]) = Space::with_clients().await;
    let writer = write(&a).await;
    let reading = spawn_read(&b);
    space.until_queued(PATH, 2).await;
    let writing = spawn_write(&c);
    space.until_queued(PATH, 3).await;
    let last = spawn_read(&d);
    space.until_queued(PATH, 4).await;
    let names = queue(&space).await;
    until_waiting(&space, &b, &names[0]).await;
    until_waiting(&space, &d, &names[2]).await;
    let reader = writer.downgrade().await.unwrap();
    let other = soon(reading).await.unwrap();
    assert!(reader.is_held() && other.is_held());
    reader.release().await.unwrap();
    assert!(!writing.is_finished() && !last.is_finished());
    other.release().await.unwrap();
    soon(writing).await.unwrap().release().await.unwrap();
    soon(last).await.unwrap().release().await.unwrap();
}

#[tokio::test]
async fn a_writer_that_reads_and_stops_writing_reads_on() {
    let (space, [a, b]) = Space::with_clients().await;
    for is_dropped in [false, true] {
        let writer = write(&a).await;
        let writing = spawn_write(&b);
        space.until_queued(PATH, 2).await;
        let before = queue(&space).await;
        let reader = writer.scope(rwlock(&a).read()).await.unwrap();
        assert_eq!(queue(&space).await, before, "reading inside of a write creates no node");
        if is_dropped {
            drop(writer);
        } else {
            writer.release().await.unwrap();
            assert_eq!(side(&queue(&space).await[0]), "__READ__", "the release waits for the server");
        }
        let node = until_downgraded(&space).await;
        assert_eq!(sequence(&node), sequence(&before[0]));
        until_waiting(&space, &b, &node).await;
        assert!(!writing.is_finished() && reader.is_held());
        reader.release().await.unwrap();
        soon(writing).await.unwrap().release().await.unwrap();
        space.until_empty(PATH).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_release_is_done_when_writer_and_reader_go_at_the_same_time() {
    let (space, client) = Space::with_client().await;
    for _ in 0..30 {
        let writer = write(&client).await;
        let reader = writer.scope(rwlock(&client).read()).await.unwrap();
        let (writer, reader) = (tokio::spawn(writer.release()), tokio::spawn(reader.release()));
        writer.await.unwrap().unwrap();
        reader.await.unwrap().unwrap();
        assert_eq!(space.children(PATH).await, [""; 0]);
    }
}

#[tokio::test]
async fn a_lock_stays_a_writers_inside_of_another_write_guard() {
    let (space, client) = Space::with_client().await;
    let outer = write(&client).await;
    let inner = outer.scope(rwlock(&client).write()).await.unwrap();
    let reader = inner.downgrade().await.unwrap();
    assert_eq!(side(&queue(&space).await[0]), "__WRIT__");
    outer.release().await.unwrap();
    assert_eq!(side(&queue(&space).await[0]), "__READ__");
    assert!(reader.is_held());
}

#[tokio::test]
async fn readers_follow_a_downgraded_writer_under_its_node_while_no_other_client_waits() {
    let space = Space::new();
    let config = |config: Config| config.queueing(Queueing::new(2, Duration::ZERO));
    let (proxy, client) = space.proxied_with(config).await;
    let lists = proxy.replies(Opcode::GET_CHILDREN);
    let mut reader = write(&client).await.downgrade().await.unwrap();
    let node = reader.fencing_token().zxid();
    until(|| async { proxy.replies(Opcode::GET_CHILDREN) > lists }, "the reader looks around").await;
    // The proxy sees the list before the client does. The answer to this request comes behind it.
    reader.verify().await.unwrap();
    for _ in 0..10 {
        let next = rwlock(&client).read().await.unwrap();
        reader.release().await.unwrap();
        reader = next;
        assert_eq!(reader.fencing_token().zxid(), node);
    }
}

#[tokio::test]
async fn a_writer_is_released_without_a_downgrade_once_the_reader_inside_has_ended() {
    let (_space, proxy, client) = Space::with_proxy().await;
    let writer = write(&client).await;
    writer.scope(rwlock(&client).read()).await.unwrap().release().await.unwrap();
    let transactions = proxy.counts().requests(Opcode::MULTI);
    writer.release().await.unwrap();
    assert_eq!(proxy.counts().requests(Opcode::MULTI), transactions);
}

#[tokio::test]
async fn a_downgrade_waits_for_writers_inside_and_says_so() {
    let space = Space::new();
    let client = space.config().default_wait(Duration::from_millis(500)).connect().await.unwrap();
    let outer = write(&client).await;
    let inner = outer.scope(rwlock(&client).write()).await.unwrap();
    let error = failed(outer.downgrade().await);
    assert!(matches!(&error, LockError::Timeout { phase: Phase::Sibling, .. }), "{error}");
    assert!(inner.is_held() && side(&queue(&space).await[0]) == "__WRIT__");
}

#[tokio::test]
async fn a_downgrade_takes_one_wait_for_the_writers_inside_and_the_servers_together() {
    let space = Space::new();
    let wait = Duration::from_secs(2);
    let (proxy, client) = space.proxied_with(|config| config.default_wait(wait)).await;
    let outer = write(&client).await;
    let inner = outer.scope(rwlock(&client).write()).await.unwrap();
    proxy.blackhole(Direction::Both);
    let started = Instant::now();
    let inside = async {
        sleep(wait * 3 / 4).await;
        drop(inner);
    };
    let (downgraded, ()) = tokio::join!(outer.downgrade(), inside);
    let error = failed(downgraded);
    let LockError::Timeout { phase: Phase::Releasing, waited, .. } = error else { panic!("{error}") };
    assert_eq!(waited, wait);
    assert!(started.elapsed() < wait * 3 / 2, "{:?}", started.elapsed());
}

#[tokio::test]
async fn readers_of_one_task_and_a_downgrade_leave_nothing_in_whatever_order_they_end() {
    let (space, client) = Space::with_client().await;
    for last in 0..3 {
        let writer = write(&client).await;
        let inner = writer.scope(rwlock(&client).read()).await.unwrap();
        let innermost = inner.scope(rwlock(&client).read()).await.unwrap();
        let mut readers = vec![inner, innermost, writer.downgrade().await.unwrap()];
        let kept = readers.remove(last);
        for reader in readers {
            reader.release().await.unwrap();
        }
        kept.verify().await.unwrap();
        assert_eq!(queue(&space).await.len(), 1);
        kept.release().await.unwrap();
        assert_eq!(space.children(PATH).await, [""; 0]);
    }
}

#[tokio::test]
async fn reader_that_was_a_writer_is_told_of_its_loss() {
    let (space, client) = Space::with_client().await;
    for cause in [LossReason::NodeDeleted, LossReason::SessionEnded] {
        let reader = write(&client).await.downgrade().await.unwrap();
        match cause {
            LossReason::SessionEnded => space.end_session_of(&client),
            _ => space.delete_children(PATH).await,
        }
        let reason = soon(reader.lost()).await;
        assert!(reason == cause || reason == LossReason::NodeDeleted, "{reason}");
        assert_eq!(reader.state(), LeaseState::Lost(reason));
        assert!(failed(reader.verify().await).is_lost());
        assert!(failed(reader.set_data(PATH, "late").await).is_lost());
        assert!(failed(reader.release().await).is_lost());
    }
}

#[tokio::test]
async fn writer_and_reader_inside_of_a_lost_write_are_told() {
    let (space, client) = Space::with_client().await;
    let writer = write(&client).await;
    let reader = writer.scope(rwlock(&client).read()).await.unwrap();
    space.delete_children(PATH).await;
    assert_eq!(soon(reader.lost()).await, LossReason::NodeDeleted);
    assert!(failed(writer.scope(rwlock(&client).read()).await).is_lost(), "it is not entered again");
    assert!(failed(writer.downgrade().await).is_lost(), "it is not downgraded");
    assert!(failed(reader.release().await).is_lost());
    let _next = soon(spawn_read(&client)).await.unwrap();
    assert_eq!(queue(&space).await.len(), 1);
}

#[tokio::test]
async fn a_downgrade_that_no_server_answers_ends_with_the_lease() {
    let server = Server::start();
    let client = server.client(Duration::from_secs(4)).await;
    let writer = write(&client).await;
    let session = client.session_id();
    server.pause().unwrap();
    let error = failed(soon(writer.downgrade()).await);
    assert!(matches!(error, LockError::Lost { reason: LossReason::LeaseExpired, .. }), "{error}");
    assert_eq!(client.session_id(), session, "the caller is told before the session is given up");
    server.resume().unwrap();
}

#[tokio::test]
async fn a_node_that_is_deleted_while_its_downgrade_is_cut_off_is_lost() {
    for is_applied in [false, true] {
        let (space, proxy, client) = Space::with_proxy().await;
        let writer = write(&client).await;
        let back = proxy.on_request(Opcode::CREATE_SESSION).hold();
        let cut = match is_applied {
            false => proxy.on_request(Opcode::MULTI).cut(How::Fin),
            true => proxy.on_reply(Opcode::MULTI).cut(How::Rst),
        };
        let downgrade = tokio::spawn(writer.downgrade());
        soon(cut.struck()).await;
        soon(back.struck()).await;
        space.delete_children(PATH).await;
        back.release();
        let error = failed(soon(downgrade).await.unwrap());
        assert!(matches!(error, LockError::Lost { reason: LossReason::NodeDeleted, .. }), "{error}");
        space.until_empty(PATH).await;
        soon(write(&space.client().await)).await.release().await.unwrap();
    }
}

fn ask(is_asked: ReadGuard) -> JoinHandle<ReadGuard> {
    tokio::spawn(async move {
        let (verified, written) = tokio::join!(is_asked.verify(), is_asked.set_data("/ledger", "now"));
        verified.unwrap();
        written.unwrap();
        is_asked
    })
}

#[tokio::test]
async fn reader_that_asks_and_writes_during_a_downgrade_hears_of_no_loss() {
    for is_applied in [false, true] {
        let (space, proxy, client) = Space::with_proxy().await;
        // Another client creates the parents.
        write(&space.client().await).await.release().await.unwrap();
        let writer = write(&client).await;
        writer.create("/ledger", "").await.unwrap();
        let read = async || writer.scope(rwlock(&client).read()).await.unwrap();
        let (before, during) = (read().await, read().await);
        let held = match is_applied {
            true => proxy.on_reply(Opcode::MULTI).nth(3).hold(),
            false => proxy.on_request(Opcode::MULTI).nth(3).hold(),
        };
        // These two transactions are sent before that of the downgrade.
        let before = soon(ask(before)).await.unwrap();
        let downgrade = tokio::spawn(writer.downgrade());
        soon(held.struck()).await;
        if is_applied {
            until_downgraded(&space).await;
        }
        let during = ask(during);
        // The lease can be checked all the time, because that takes no request.
        assert!(before.is_held() && !during.is_finished());
        held.release();
        let during = soon(during).await.unwrap();
        let reader = soon(downgrade).await.unwrap().unwrap();
        before.release().await.unwrap();
        during.release().await.unwrap();
        reader.verify().await.unwrap();
        let names = queue(&space).await;
        assert_eq!((names.len(), side(&names[0])), (1, "__READ__"), "{names:?}");
        reader.release().await.unwrap();
        space.until_empty(PATH).await;
    }
}

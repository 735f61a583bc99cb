//! A holder of either side that loses the lock is notified.

use std::time::Duration;

use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use zklock::{Client, Config, LeaseState, LockError, LossReason, ReadGuard, RwLock, WriteGuard};

use super::{PATH, queue, read, rwlock, spawn_read, write};
use crate::support::{Server, Space, TICK, failed, soon};

/// A guard of either side.
enum Held {
    Reading(ReadGuard),
    Writing(WriteGuard),
}

impl Held {
    async fn all(client: &Client) -> [Self; 3] {
        let other = client.rwlock("/other").unwrap();
        let third = client.rwlock("/third").unwrap();
        let downgraded = third.write().await.unwrap().downgrade().await.unwrap();
        [
            Self::Reading(read(client).await),
            Self::Writing(other.write().await.unwrap()),
            Self::Reading(downgraded),
        ]
    }

    async fn lost(&self) -> LossReason {
        match self {
            Self::Reading(guard) => soon(guard.lost()).await,
            Self::Writing(guard) => soon(guard.lost()).await,
        }
    }

    async fn check_lost(self, reason: LossReason) {
        assert_eq!(self.lost().await, reason);
        let (state, verified, written, released) = match self {
            Self::Reading(guard) => {
                let state = guard.state();
                (state, guard.verify().await, guard.set_data("/other", "late").await, guard.release().await)
            }
            Self::Writing(guard) => {
                let state = guard.state();
                (state, guard.verify().await, guard.set_data("/other", "late").await, guard.release().await)
            }
        };
        assert_eq!(state, LeaseState::Lost(reason));
        assert!(failed(verified).is_lost() && failed(written).is_lost() && failed(released).is_lost());
    }
}

#[tokio::test]
async fn holders_whose_nodes_are_deleted_are_told() {
    let space = Space::new();
    let client = space.client().await;
    let held = Held::all(&client).await;
    for path in [PATH, "/other", "/third"] {
        space.delete_children(path).await;
    }
    for held in held {
        held.check_lost(LossReason::NodeDeleted).await;
    }
}

#[tokio::test]
async fn holders_whose_session_is_ended_are_told_and_the_next_is_let_in() {
    let space = Space::new();
    let (client, other) = (space.client().await, space.client().await);
    let held = Held::all(&client).await;
    let writing = other.rwlock("/other").unwrap();
    let reading = tokio::spawn(async move { writing.read_timeout(Duration::MAX).await });
    space.until_queued("/other", 2).await;
    let before = space.children("/other").await;
    space.end_session_of(&client);
    for held in held {
        let reason = soon(held.lost()).await;
        assert!(matches!(reason, LossReason::SessionEnded | LossReason::NodeDeleted), "{reason}");
        held.check_lost(reason).await;
    }
    let reader = soon(reading).await.unwrap().unwrap();
    let after = space.children("/other").await;
    assert_eq!(after.len(), 1);
    assert!(before.contains(&after[0]) && after[0].contains("__READ__"));
    reader.release().await.unwrap();
}

#[tokio::test]
async fn the_loss_of_one_reader_is_none_of_the_others() {
    let space = Space::new();
    let client = space.client().await;
    let (first, second) = (read(&client).await, read(&space.client().await).await);
    let node = space.full(&format!("{PATH}/{}", queue(&space).await[0]));
    space.outsider().await.delete(&node, None).await.unwrap();
    assert_eq!(soon(first.lost()).await, LossReason::NodeDeleted);
    second.verify().await.unwrap();
    assert!(second.is_held());
    assert!(failed(first.release().await).is_lost());
    second.release().await.unwrap();
}

#[tokio::test]
async fn everybody_inside_of_a_lost_write_is_told() {
    let space = Space::new();
    let client = space.client().await;
    let writer = write(&client).await;
    let reader = writer.scope(rwlock(&client).read()).await.unwrap();
    space.delete_children(PATH).await;
    assert_eq!(soon(reader.lost()).await, LossReason::NodeDeleted);
    assert!(failed(writer.release().await).is_lost());
    assert!(failed(reader.release().await).is_lost());
    let next = soon(spawn_read(&client)).await.unwrap();
    assert_eq!(queue(&space).await.len(), 1);
    next.release().await.unwrap();
}

#[tokio::test]
async fn a_body_that_reads_or_writes_is_dropped_when_the_lock_is_lost() {
    let space = Space::new();
    let lock = rwlock(&space.client().await);
    let (begin, mut begun) = unbounded_channel();
    let never = async |begin: UnboundedSender<()>| {
        begin.send(()).unwrap();
        std::future::pending::<()>().await;
    };
    let run = |lock: RwLock, begin| {
        tokio::spawn(async move { lock.run_read(async move |_| never(begin).await).await })
    };
    let read = run(lock.clone(), begin.clone());
    soon(begun.recv()).await.unwrap();
    lock.try_read().await.unwrap().expect("readers share").release().await.unwrap();
    space.delete_children(PATH).await;
    assert!(failed(soon(read).await.unwrap()).is_lost());
    let run = |lock: RwLock, begin| {
        tokio::spawn(async move { lock.run_write(async move |_| never(begin).await).await })
    };
    let write = run(lock.clone(), begin);
    soon(begun.recv()).await.unwrap();
    assert!(lock.try_write().await.unwrap().is_none());
    space.delete_children(PATH).await;
    assert!(failed(soon(write).await.unwrap()).is_lost());
    space.until_empty(PATH).await;
}

#[tokio::test]
async fn a_downgrade_that_no_server_answers_ends_with_the_lease() {
    let server = Server::start();
    let config = Config::new(server.connect_string()).session_timeout(Duration::from_secs(4)).tick_time(TICK);
    let client = config.connect().await.unwrap();
    let writer = write(&client).await;
    let session = client.session_id();
    server.pause().unwrap();
    let error = failed(soon(writer.downgrade()).await);
    assert!(matches!(error, LockError::Lost { reason: LossReason::LeaseExpired, .. }), "{error}");
    assert_eq!(client.session_id(), session, "the caller is told before the session is given up");
    server.resume().unwrap();
}

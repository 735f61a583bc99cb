//! Downgrades whose connection breaks at their transaction, and requests on the lock meanwhile.
//! `contract::interruptions` has the breaks at each frame.

use tokio::task::JoinHandle;
use zklock::{Client, Health, LockError, LossReason, ReadGuard, WriteGuard};
use zklock_testkit::wire::Opcode;
use zklock_testkit::{Hold, How, Proxy, Rule};

use super::{PATH, queue, rwlock, sequence, side, spawn_write, until_waiting, write};
use crate::support::{Space, failed, soon, until};

/// A client behind a proxy, and a client with a direct connection.
struct Scene {
    space: Space,
    proxy: Proxy,
    client: Client,
    other: Client,
}

/// An arranged break.
struct Break {
    rule: Rule,
    return_: Hold,
}

impl Scene {
    async fn new() -> Self {
        let (space, proxy, client) = Space::with_proxy().await;
        let other = space.client().await;
        // This creates the parents.
        write(&other).await.release().await.unwrap();
        Self { space, proxy, client, other }
    }

    /// Breaks the connection at the next transaction, and keeps the client from reconnecting. The server may have applied
    /// it.
    fn cut(&self, is_applied: bool) -> Break {
        let return_ = self.proxy.on_request(Opcode::CREATE_SESSION).hold();
        let rule = match is_applied {
            false => self.proxy.on_request(Opcode::MULTI).cut(How::Fin),
            true => self.proxy.on_reply(Opcode::MULTI).cut(How::Rst),
        };
        Break { rule, return_ }
    }

    /// Waits for the break, and lets the client reconnect.
    async fn mend(&self, broken: Break) {
        let session = self.client.session_id();
        soon(broken.rule.struck()).await;
        soon(broken.return_.struck()).await;
        broken.return_.release();
        until(|| async { self.client.health() == Health::Connected }, "the client is back").await;
        assert_eq!(self.client.session_id(), session);
    }
}

type Downgrade = JoinHandle<Result<ReadGuard, LockError>>;

/// Returns a writer, its node, and a writer that waits behind it.
async fn write_and_let_wait(scene: &Scene) -> (WriteGuard, String, JoinHandle<WriteGuard>) {
    let writer = write(&scene.client).await;
    let waiting = spawn_write(&scene.other);
    scene.space.until_queued(PATH, 2).await;
    let node = queue(&scene.space).await.remove(0);
    until_waiting(&scene.space, &scene.other, &node).await;
    (writer, node, waiting)
}

/// Checks that the lock is held for reading, with one node in the writer's place, and hands it on to the
/// waiting writer.
async fn check_read_and_hand_on(
    scene: &Scene,
    node: &str,
    (reader, waiting): (ReadGuard, JoinHandle<WriteGuard>),
) {
    reader.verify().await.unwrap();
    let names = queue(&scene.space).await;
    assert_eq!(names.len(), 2, "{names:?}");
    assert_eq!((side(&names[0]), sequence(&names[0])), ("__READ__", sequence(node)));
    until_waiting(&scene.space, &scene.other, &names[0]).await;
    assert!(!waiting.is_finished());
    let token = reader.fencing_token();
    reader.release().await.unwrap();
    let writer = soon(waiting).await.unwrap();
    assert!(writer.fencing_token() > token);
    writer.release().await.unwrap();
    scene.space.until_empty(PATH).await;
}

#[tokio::test]
async fn a_downgrade_that_is_cut_off_again_and_again_takes_place_once() {
    let scene = Scene::new().await;
    let (writer, node, waiting) = write_and_let_wait(&scene).await;
    let first = scene.proxy.on_request(Opcode::MULTI).times(2).cut(How::Fin);
    let second = scene.proxy.on_reply(Opcode::MULTI).times(2).cut(How::Rst);
    let reader = soon(writer.downgrade()).await.unwrap();
    assert_eq!((first.hits(), second.hits()), (2, 2));
    check_read_and_hand_on(&scene, &node, (reader, waiting)).await;
}

#[tokio::test]
async fn a_node_that_is_deleted_while_its_downgrade_is_cut_off_is_lost() {
    for is_applied in [false, true] {
        let scene = Scene::new().await;
        let writer = write(&scene.client).await;
        let broken = scene.cut(is_applied);
        let downgrade: Downgrade = tokio::spawn(writer.downgrade());
        soon(broken.rule.struck()).await;
        scene.space.delete_children(PATH).await;
        scene.mend(broken).await;
        let error = failed(soon(downgrade).await.unwrap());
        assert!(matches!(error, LockError::Lost { reason: LossReason::NodeDeleted, .. }), "{error}");
        scene.space.until_empty(PATH).await;
        soon(write(&scene.other)).await.release().await.unwrap();
    }
}

/// Verifies a lock and writes under it in a separate task. `is_asked` is a reader of the same call.
fn ask(is_asked: ReadGuard, ledger: &'static str) -> JoinHandle<ReadGuard> {
    tokio::spawn(async move {
        let (verified, written) = tokio::join!(is_asked.verify(), is_asked.set_data(ledger, "now"));
        verified.unwrap();
        written.unwrap();
        is_asked
    })
}

#[tokio::test]
async fn reader_that_asks_and_writes_during_a_downgrade_hears_of_no_loss() {
    for is_applied in [false, true] {
        let scene = Scene::new().await;
        let (writer, node, waiting) = write_and_let_wait(&scene).await;
        writer.create("/ledger", "").await.unwrap();
        let read = async || writer.scope(rwlock(&scene.client).read()).await.unwrap();
        let (before, during) = (read().await, read().await);
        let held = match is_applied {
            true => scene.proxy.on_reply(Opcode::MULTI).nth(3).hold(),
            false => scene.proxy.on_request(Opcode::MULTI).nth(3).hold(),
        };
        // These two transactions are sent before that of the downgrade.
        let before = soon(ask(before, "/ledger")).await.unwrap();
        let downgrade: Downgrade = tokio::spawn(writer.downgrade());
        soon(held.struck()).await;
        if is_applied {
            let is_reader = || async { side(&queue(&scene.space).await[0]) == "__READ__" };
            until(is_reader, "the writer is a reader").await;
        }
        let during = ask(during, "/ledger");
        // The lease can be checked all the time, because that takes no request.
        assert!(before.is_held() && !during.is_finished());
        held.release();
        let during = soon(during).await.unwrap();
        let reader = soon(downgrade).await.unwrap().unwrap();
        before.release().await.unwrap();
        during.release().await.unwrap();
        reader.delete("/ledger").await.unwrap();
        check_read_and_hand_on(&scene, &node, (reader, waiting)).await;
    }
}

#[tokio::test]
async fn reader_that_asks_during_a_downgrade_that_is_cut_off_hears_of_no_loss() {
    for is_applied in [false, true] {
        let scene = Scene::new().await;
        let (writer, node, waiting) = write_and_let_wait(&scene).await;
        let asking = writer.scope(rwlock(&scene.client).read()).await.unwrap();
        let broken = scene.cut(is_applied);
        let downgrade: Downgrade = tokio::spawn(writer.downgrade());
        soon(broken.rule.struck()).await;
        let asked = tokio::spawn(async move {
            asking.verify().await.unwrap();
            asking
        });
        scene.mend(broken).await;
        let asked = soon(asked).await.unwrap();
        let reader = soon(downgrade).await.unwrap().unwrap();
        asked.release().await.unwrap();
        check_read_and_hand_on(&scene, &node, (reader, waiting)).await;
    }
}

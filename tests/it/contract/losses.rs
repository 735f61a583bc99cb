//! Holders and waiters whose node is deleted, or whose session ends.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use futures_util::poll;
use rstest_reuse::apply;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use zklock::{Client, LeaseState, LockError, LossReason, Standing};
use zklock_testkit::wire::Opcode;
use zklock_testkit::{Direction, How, Proxy};

use super::face::{Face, Held, LONG};
use super::templates::every_lock_and_readers;
use super::{PATH, Scene};
use crate::attributes::Tracer;
use crate::recovery::expire_for_the_client_alone;
use crate::support::session_end::end_session;
use crate::support::{SOON, Space, failed, soon, until};

const DATA: &str = "/data";
/// A node of which nobody creates a parent.
const UNBEGUN: &str = "/unbegun/late";

impl Scene {
    async fn nodes(&self) -> Vec<String> {
        self.space.children(&self.face.parent_of_nodes(PATH)).await
    }

    /// Deletes the node of the client that it entered last, or ends its session.
    async fn lose(&self, cause: LossReason) {
        if cause == LossReason::SessionEnded {
            return self.space.end_session_of(&self.client);
        }
        let of_client = async |node: &String| {
            let path = format!("{}/{node}", self.space.full(&self.face.parent_of_nodes(PATH)));
            let stat = self.space.outsider().await.check_stat(&path).await.unwrap();
            stat.is_some_and(|stat| Some(stat.ephemeral_owner) == self.client.session_id())
        };
        let mut own = Vec::new();
        for node in self.nodes().await {
            if of_client(&node).await {
                own.push(node);
            }
        }
        let last = own.into_iter().max_by_key(|node| node[node.len() - 10..].to_owned());
        let path = format!("{}/{}", self.face.parent_of_nodes(PATH), last.expect("it has a node"));
        self.space.outsider().await.delete(&self.space.full(&path), None).await.unwrap();
    }

    /// Lets the rival wait for a lock that it has tried to take before.
    async fn held_before_rival(&self) -> (Held, JoinHandle<Result<Held, LockError>>) {
        let guard = self.lock.take().await;
        for _ in 0..3 {
            assert!(self.rival.try_lock().await.unwrap().is_none());
        }
        let waiting = self.rival.spawn();
        self.face.until_contending(&self.space, PATH, 2).await;
        (guard, waiting)
    }

    async fn waits_behind_rival(&self) -> (Held, JoinHandle<Result<Held, LockError>>) {
        let held = self.rival.take().await;
        let waiting = self.lock.spawn();
        self.face.until_waiting(&self.space, PATH, &self.client).await;
        (held, waiting)
    }

    async fn cut_off_during(&self, meanwhile: impl Future<Output = ()>) {
        let back = self.proxy.on_request(Opcode::CREATE_SESSION).hold();
        self.proxy.cut(How::Rst);
        soon(back.struck()).await;
        meanwhile.await;
        back.release();
    }

    async fn takes_over(&self, waiting: JoinHandle<Result<Held, LockError>>) {
        let guard = soon(waiting).await.unwrap().unwrap();
        guard.verify().await.unwrap();
        self.face.assert_held_once(&self.space, PATH).await;
        self.end(guard).await;
    }
}

/// Waits until the holder is told. The nodes of a session end with it, and its client may learn of them first.
async fn told(guard: &Held, cause: LossReason) -> LossReason {
    let reason = soon(guard.lost()).await;
    assert!(reason == LossReason::NodeDeleted || reason == cause, "{reason}");
    reason
}

#[apply(every_lock_and_readers)]
async fn holder_that_loses_its_lock_is_told_and_writes_nothing_while_the_next_has_it(
    face: Face,
    #[values(LossReason::NodeDeleted, LossReason::SessionEnded)] cause: LossReason,
) {
    let scene = Scene::new(face).await;
    let (guard, waiting) = scene.held_before_rival().await;
    guard.upsert(DATA, "first").await.unwrap();
    assert_eq!(guard.get(DATA).await.unwrap().as_deref(), Some(&b"first"[..]));
    assert!(guard.once_per("/begun", LONG).await.unwrap());
    let (before, token) = (scene.nodes().await, guard.fencing_token());
    scene.lose(cause).await;
    let late = failed(guard.set_data(DATA, "late").await);
    let reason = told(&guard, cause).await;
    assert_eq!(guard.state(), LeaseState::Lost(reason));
    assert!(!guard.is_held());
    let mut errors = vec![failed(guard.verify().await), failed(guard.set_data(DATA, "late").await)];
    errors.extend([failed(guard.upsert(UNBEGUN, "late").await), failed(guard.get(DATA).await)]);
    errors.push(failed(guard.once_per(UNBEGUN, LONG).await));
    errors.push(failed(guard.run(std::future::pending::<()>()).await));
    errors.push(failed(guard.run_to_end(async { unreachable!("it begins") }).await));
    errors.push(failed(guard.run_blocking(|| unreachable!("it begins"))));
    match cause {
        // Its outcome was unknown when the session ended.
        LossReason::SessionEnded => until(async || waiting.is_finished(), "the next is let in").await,
        _ => errors.push(late),
    }
    errors.push(failed(guard.release().await));
    for error in errors {
        assert!(error.is_lost(), "{error}");
        if cause == LossReason::NodeDeleted {
            assert!(matches!(&error, LockError::Lost { path, .. } if path == PATH), "{error}");
        }
    }
    let outsider = scene.space.outsider().await;
    assert_eq!(outsider.get_data(&scene.space.full(DATA)).await.unwrap().0, b"first");
    assert_eq!(scene.space.children("/unbegun").await, [""; 0]);
    let next = soon(waiting).await.unwrap().unwrap();
    next.verify().await.unwrap();
    assert!(scene.nodes().await.iter().all(|node| before.contains(node)), "it has the node it waited with");
    assert!(next.fencing_token() > token);
    scene.end(next).await;
}

#[apply(every_lock_and_readers)]
async fn waiter_whose_session_ends_waits_again_in_the_next_one(face: Face) {
    let scene = Scene::new(face).await;
    let (held, waiting) = scene.waits_behind_rival().await;
    let before = scene.client.session_id();
    scene.lose(LossReason::SessionEnded).await;
    let waits_again = async || {
        let (session, participants) = (scene.client.session_id(), scene.rival.participants().await);
        let mut waiters = participants.iter().filter(|it| it.standing == Standing::Waits);
        session != before && waiters.any(|waiter| Some(waiter.session_id) == session)
    };
    until(waits_again, "the waiter is back with its next session").await;
    assert!(held.is_held());
    held.release().await.unwrap();
    scene.takes_over(waiting).await;
}

#[apply(every_lock_and_readers)]
async fn waiter_whose_node_is_deleted_takes_the_lock_with_another_node(face: Face) {
    let scene = Scene::new(face).await;
    let (held, waiting) = scene.waits_behind_rival().await;
    let before = scene.nodes().await;
    scene.lose(LossReason::NodeDeleted).await;
    let now = scene.nodes().await;
    let deleted: Vec<_> = before.iter().filter(|node| !now.contains(node)).collect();
    assert!(held.is_held() && deleted.len() == 1, "{deleted:?}");
    held.release().await.unwrap();
    let guard = soon(waiting).await.unwrap().unwrap();
    guard.verify().await.unwrap();
    assert!(!scene.nodes().await.contains(deleted[0]));
    face.assert_held_once(&scene.space, PATH).await;
    scene.end(guard).await;
}

#[apply(every_lock_and_readers)]
async fn body_is_dropped_before_its_loss_is_returned(face: Face) {
    let scene = Scene::new(face).await;
    let ((started, has_started), (tracer, is_dropped)) = (oneshot::channel(), Tracer::new());
    let lock = scene.lock.clone();
    let body = async move {
        let _tracer = tracer;
        started.send(()).unwrap();
        std::future::pending::<()>().await;
    };
    let running = tokio::spawn(async move { lock.run(body).await });
    soon(has_started).await.unwrap();
    scene.lose(LossReason::NodeDeleted).await;
    let error = failed(soon(running).await.unwrap());
    let is_told =
        matches!(&error, LockError::Lost { path, reason: LossReason::NodeDeleted, .. } if path == PATH);
    assert!(is_told, "{error}");
    assert!(is_dropped.load(Ordering::SeqCst));
    scene.until_nothing_is_left().await;
}

#[apply(every_lock_and_readers)]
async fn body_that_ends_after_the_loss_is_no_success(face: Face) {
    let scene = Scene::new(face).await;
    let guard = scene.lock.take().await;
    let deletes = async {
        scene.lose(LossReason::NodeDeleted).await;
        // The body notices the loss and ends within one poll, which cannot be interrupted.
        let deadline = Instant::now() + SOON;
        while guard.is_held() {
            assert!(Instant::now() < deadline, "the loss is not noticed");
            std::thread::yield_now();
        }
    };
    assert!(failed(guard.run(deletes).await).is_lost());
}

#[apply(every_lock_and_readers)]
async fn node_that_is_deleted_while_its_holder_is_cut_off_is_lost(face: Face) {
    let scene = Scene::new(face).await;
    let guard = scene.lock.take().await;
    scene.cut_off_during(scene.lose(LossReason::NodeDeleted)).await;
    assert_eq!(soon(guard.lost()).await, LossReason::NodeDeleted);
    assert!(failed(guard.set_data(DATA, "late").await).is_lost());
    drop(guard);
    scene.rival.take().await.release().await.unwrap();
    scene.until_nothing_is_left().await;
}

#[apply(every_lock_and_readers)]
async fn holder_that_goes_while_the_waiter_is_cut_off_is_noticed(face: Face) {
    let scene = Scene::new(face).await;
    let (held, waiting) = scene.waits_behind_rival().await;
    scene.cut_off_during(async { held.release().await.unwrap() }).await;
    scene.takes_over(waiting).await;
}

#[apply(every_lock_and_readers)]
async fn lease_of_a_holder_that_is_cut_off_ends_before_its_session(face: Face) {
    let scene = Scene::of(Space::quick(), face, |config| config).await;
    let (guard, waiting) = scene.held_before_rival().await;
    let waiting = tokio::spawn(async move { (waiting.await.unwrap().unwrap(), Instant::now()) });
    scene.proxy.blackhole(Direction::Both);
    let told = async {
        guard.lost().await;
        Instant::now()
    };
    let (ran, told) = soon(async { tokio::join!(guard.run(std::future::pending::<()>()), told) }).await;
    let error = failed(ran);
    assert!(matches!(error, LockError::Lost { reason: LossReason::LeaseExpired, .. }), "{error}");
    let (next, granted) = soon(waiting).await.unwrap();
    assert!(told < granted, "the loss is told while the servers still keep the session");
    assert!(next.fencing_token() > guard.fencing_token());
    scene.proxy.heal();
    next.release().await.unwrap();
    let again = scene.lock.take().await;
    assert_eq!(guard.state(), LeaseState::Lost(LossReason::LeaseExpired), "a loss is permanent");
    scene.end(again).await;
}

#[apply(every_lock_and_readers)]
async fn node_of_the_last_session_is_waited_for_like_that_of_another_client(face: Face) {
    let scene = Scene::new(face).await;
    let guard = scene.lock.take().await;
    face.until_contending(&scene.space, PATH, 1).await;
    let old = expire_for_the_client_alone(&scene.proxy, &scene.client).await;
    assert_eq!(soon(guard.lost()).await, LossReason::SessionEnded);
    let lock = face.rival().of(&scene.client, PATH);
    assert!(lock.try_lock().await.unwrap().is_none());
    let again = lock.spawn();
    face.until_contending(&scene.space, PATH, 2).await;
    assert!(failed(guard.release().await).is_lost());
    assert!(!again.is_finished());
    assert_eq!(lock.participants().await[0].session_id, old);
    end_session(scene.space.server().address(), old);
    let again = soon(again).await.unwrap().unwrap();
    let holder = &lock.participants().await[0];
    assert_eq!(Some(holder.session_id), scene.client.session_id());
    assert_eq!(holder.fencing_token, again.fencing_token());
    scene.end(again).await;
}

#[apply(every_lock_and_readers)]
async fn guard_of_a_lost_lock_that_is_kept_does_not_refuse_a_try(face: Face) {
    let scene = Scene::new(face).await;
    let guard = scene.lock.take().await;
    end_session(scene.space.server().address(), scene.client.session_id().unwrap());
    assert_eq!(soon(guard.lost()).await, LossReason::SessionEnded);
    let again = soon(face.rival().of(&scene.client, PATH).try_lock()).await.unwrap();
    let again = again.expect("nobody has the lock on the servers");
    assert!(failed(guard.release().await).is_lost());
    scene.end(again).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn guarded_writes_that_are_under_way_when_the_lock_is_lost_are_refused_by_the_server() {
    let (space, client) = Space::with_client().await;
    let guard = Arc::new(client.mutex(PATH).unwrap().lock().await.unwrap());
    guard.create(DATA, "mine").await.unwrap();
    let (outsider, node) = (space.outsider().await, space.children(PATH).await.remove(0));
    let write = |turn: u32| {
        let guard = guard.clone();
        // Writes repeatedly until a write fails, so that some writes are under way at any moment.
        tokio::spawn(async move {
            loop {
                if let Err(error) = guard.set_data(DATA, turn.to_string()).await {
                    break error;
                }
            }
        })
    };
    let writes: Vec<_> = (0..50).map(write).collect();
    let ledger = space.full(DATA);
    until(|| async { outsider.get_data(&ledger).await.unwrap().0 != b"mine" }, "writes are applied").await;
    outsider.delete(&space.full(&format!("{PATH}/{node}")), None).await.unwrap();
    for write in writes {
        let error = soon(write).await.unwrap();
        assert!(error.is_lost(), "{error}");
    }
    let ledger = outsider.check_stat(&ledger).await.unwrap().unwrap();
    let queue = outsider.check_stat(&space.full(PATH)).await.unwrap().unwrap();
    assert!(ledger.mzxid < queue.pzxid, "a write was applied after the lock's node was deleted");
    assert!(matches!(guard.state(), LeaseState::Lost(LossReason::NodeDeleted)));
}

#[tokio::test]
async fn a_lock_that_is_lost_before_its_caller_sees_it_is_acquired_again() {
    let space = Space::quick();
    let (proxy, client) = space.proxied().await;
    let mutex = client.mutex(PATH).unwrap();
    // The caller is not polled, like one whose thread is blocked.
    let mut waits = Box::pin(mutex.lock());
    lose_unseen(&space, (&proxy, &client), &mut waits).await;
    let guard = soon(waits).await.unwrap();
    assert!(guard.is_held(), "{guard:?}");
    guard.release().await.unwrap();
    assert_eq!(space.children(PATH).await, [""; 0]);
}

#[tokio::test]
async fn a_lock_that_is_lost_when_the_wait_is_over_is_an_error() {
    let space = Space::quick();
    let (proxy, client) = space.proxied().await;
    let (mutex, wait, begun) = (client.mutex(PATH).unwrap(), Duration::from_secs(2), Instant::now());
    let mut waits = Box::pin(mutex.lock_timeout(wait));
    lose_unseen(&space, (&proxy, &client), &mut waits).await;
    until(|| async { begun.elapsed() > wait }, "the wait is over").await;
    let error = failed(soon(waits).await);
    let LockError::Lost { reason: LossReason::SessionEnded | LossReason::NodeDeleted, .. } = error else {
        panic!("{error}");
    };
}

/// Polls `waits` once, and returns after its lock was acquired and lost.
async fn lose_unseen(space: &Space, (proxy, client): (&Proxy, &Client), waits: &mut (impl Future + Unpin)) {
    assert!(poll!(&mut *waits).is_pending());
    // The first transaction begins the connection, and the next one creates the queue. A client that holds a lock sends
    // heartbeats.
    until(|| async { proxy.requests(Opcode::MULTI) > 2 }, "the lock is acquired").await;
    assert_eq!(space.children(PATH).await.len(), 1);
    let session = client.session_id();
    space.end_session_of(client);
    until(|| async { client.session_id().is_some_and(|id| Some(id) != session) }, "it is lost").await;
}

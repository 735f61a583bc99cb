//! Connections that break at one exact request or reply, as seen by the caller, the queue and the next
//! waiter.
//!
//! A proxy stands between one client and the server. Each case runs twice: the client returns to the same
//! session, or its session ends before it is back.

use std::time::Duration;

use tokio::task::JoinHandle;
use zklock::{Client, Health, LockError, LossReason, MutexGuard};
use zklock_testkit::wire::Opcode;
use zklock_testkit::{Hold, How, Proxy, Rule};

use crate::support::session_end::end_session;
use crate::support::{Space, soon, until};

const PATH: &str = "/cut/off";

/// The point at which the connection breaks.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Cut {
    /// The server never sees the request.
    Request(Opcode),
    /// The server has applied the request, but its reply does not reach the client.
    Reply(Opcode),
}

impl Cut {
    pub(crate) fn both(opcode: Opcode) -> [Self; 2] {
        [Self::Request(opcode), Self::Reply(opcode)]
    }
}

/// The event that happens before the client is back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meanwhile {
    Nothing,
    SessionEnds,
}

/// The caller's reaction when the connection breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Caller {
    Stays,
    Leaves,
}

/// A client behind a proxy, and a client with a direct connection.
pub(crate) struct Scene {
    pub(crate) space: Space,
    pub(crate) proxy: Proxy,
    pub(crate) client: Client,
    pub(crate) other: Client,
}

impl Scene {
    pub(crate) async fn new() -> Self {
        let space = Space::new();
        let (proxy, client) = space.proxied().await;
        let other = space.client().await;
        // This creates the parents.
        lock(&other).await.release().await.unwrap();
        Self { space, proxy, client, other }
    }

    /// Breaks the connection at the next such request or reply, and keeps the client from reconnecting.
    pub(crate) fn cut(&self, cut: Cut) -> Break {
        let rule = match cut {
            Cut::Request(opcode) => self.proxy.on_request(opcode).cut(How::Fin),
            Cut::Reply(opcode) => self.proxy.on_reply(opcode).cut(How::Rst),
        };
        Break { rule, return_: self.proxy.on_request(Opcode::CREATE_SESSION).hold() }
    }

    /// Waits for the break, and lets the client reconnect.
    pub(crate) async fn mend(&self, broken: Break, meanwhile: Meanwhile) {
        let session = self.client.session_id().expect("the client has a session");
        soon(broken.rule.struck()).await;
        soon(broken.return_.struck()).await;
        if meanwhile == Meanwhile::SessionEnds {
            end_session(self.space.server().address(), session);
        }
        broken.return_.release();
        match meanwhile {
            Meanwhile::Nothing => {
                until(|| async { self.client.health() == Health::Connected }, "the client is back").await;
                assert_eq!(self.client.session_id(), Some(session));
            }
            Meanwhile::SessionEnds => {
                let is_new = || self.client.session_id().is_some_and(|id| id != session);
                until(|| async { is_new() }, "the client has a new session").await;
            }
        }
    }

    /// Checks that a caller that has left leaves no node, and that the next client gets the lock.
    async fn check_free(&self) {
        soon(lock(&self.other)).await.release().await.unwrap();
        self.space.until_empty(PATH).await;
    }

    /// Checks that the lock is held with one node, and that the next waiter gets it.
    async fn check_held_and_hand_on(&self, guard: MutexGuard) {
        guard.verify().await.unwrap();
        assert_eq!(self.space.children(PATH).await.len(), 1, "{:?}", self.space.children(PATH).await);
        let next = spawn_lock(&self.other);
        self.space.until_queued(PATH, 2).await;
        let token = guard.fencing_token();
        guard.release().await.unwrap();
        let next = soon(next).await.unwrap();
        assert!(next.fencing_token() > token);
        next.release().await.unwrap();
        self.space.until_empty(PATH).await;
    }
}

/// An arranged break.
pub(crate) struct Break {
    pub(crate) rule: Rule,
    return_: Hold,
}

async fn lock(client: &Client) -> MutexGuard {
    soon(client.mutex(PATH).unwrap().lock_timeout(Duration::MAX)).await.unwrap()
}

fn spawn_lock(client: &Client) -> JoinHandle<MutexGuard> {
    let client = client.clone();
    tokio::spawn(async move { lock(&client).await })
}

/// Breaks the connection of a client while it enters the queue of a free lock.
async fn break_while_entering(cut: Cut, meanwhile: Meanwhile, caller: Caller) {
    let scene = Scene::new().await;
    let broken = scene.cut(cut);
    let locking = spawn_lock(&scene.client);
    if caller == Caller::Leaves {
        soon(broken.rule.struck()).await;
        locking.abort();
        scene.mend(broken, meanwhile).await;
        return scene.check_free().await;
    }
    scene.mend(broken, meanwhile).await;
    let guard = soon(locking).await.unwrap();
    scene.check_held_and_hand_on(guard).await;
}

pub(crate) async fn for_all(what: impl AsyncFn(Meanwhile, Caller)) {
    for meanwhile in [Meanwhile::Nothing, Meanwhile::SessionEnds] {
        for caller in [Caller::Stays, Caller::Leaves] {
            what(meanwhile, caller).await;
        }
    }
}

#[tokio::test]
async fn a_create_that_is_cut_off_leaves_one_node_or_none() {
    for cut in Cut::both(Opcode::CREATE2) {
        for_all(async |meanwhile, caller| break_while_entering(cut, meanwhile, caller).await).await;
    }
}

#[tokio::test]
async fn a_list_that_is_cut_off_leaves_one_node_or_none() {
    for cut in Cut::both(Opcode::GET_CHILDREN) {
        for_all(async |meanwhile, caller| break_while_entering(cut, meanwhile, caller).await).await;
    }
}

#[tokio::test]
async fn a_watch_that_is_cut_off_misses_no_turn() {
    for cut in Cut::both(Opcode::GET_DATA) {
        for_all(async |meanwhile, caller| {
            let scene = Scene::new().await;
            let holder = lock(&scene.other).await;
            let broken = scene.cut(cut);
            let waiting = spawn_lock(&scene.client);
            soon(broken.rule.struck()).await;
            if caller == Caller::Leaves {
                waiting.abort();
                scene.mend(broken, meanwhile).await;
                scene.space.until_queued(PATH, 1).await;
                holder.verify().await.unwrap();
                holder.release().await.unwrap();
                return scene.check_free().await;
            }
            scene.mend(broken, meanwhile).await;
            scene.space.until_queued(PATH, 2).await;
            holder.release().await.unwrap();
            let guard = soon(waiting).await.unwrap();
            scene.check_held_and_hand_on(guard).await;
        })
        .await;
    }
}

#[tokio::test]
async fn a_release_that_is_cut_off_hands_the_lock_on() {
    for cut in Cut::both(Opcode::DELETE) {
        for_all(async |meanwhile, caller| {
            let scene = Scene::new().await;
            let guard = lock(&scene.client).await;
            let next = spawn_lock(&scene.other);
            scene.space.until_queued(PATH, 2).await;
            let broken = scene.cut(cut);
            let releasing = tokio::spawn(async move {
                match caller {
                    Caller::Stays => guard.release().await,
                    Caller::Leaves => {
                        drop(guard);
                        Ok(())
                    }
                }
            });
            scene.mend(broken, meanwhile).await;
            soon(next).await.unwrap().release().await.unwrap();
            let released = soon(releasing).await.unwrap();
            let is_true = match (&released, meanwhile) {
                (Ok(()), _) => true,
                (Err(error), Meanwhile::SessionEnds) => error.is_lost(),
                (Err(_), Meanwhile::Nothing) => false,
            };
            assert!(is_true, "{cut:?} {meanwhile:?}: {released:?}");
            scene.space.until_empty(PATH).await;
        })
        .await;
    }
}

#[tokio::test]
async fn a_predecessor_that_goes_while_the_waiter_is_cut_off_is_noticed() {
    let scene = Scene::new().await;
    let holder = lock(&scene.other).await;
    let waiting = spawn_lock(&scene.client);
    until(|| async { scene.proxy.replies(Opcode::GET_DATA) > 0 }, "the waiter watches").await;
    let back = scene.proxy.on_request(Opcode::CREATE_SESSION).hold();
    scene.proxy.cut(How::Rst);
    soon(back.struck()).await;
    holder.release().await.unwrap();
    back.release();
    let guard = soon(waiting).await.unwrap();
    scene.check_held_and_hand_on(guard).await;
}

#[tokio::test]
async fn a_node_that_is_deleted_while_its_holder_is_cut_off_is_lost() {
    let scene = Scene::new().await;
    let guard = lock(&scene.client).await;
    let back = scene.proxy.on_request(Opcode::CREATE_SESSION).hold();
    scene.proxy.cut(How::Fin);
    soon(back.struck()).await;
    scene.space.delete_children(PATH).await;
    back.release();
    assert_eq!(soon(guard.lost()).await, LossReason::NodeDeleted);
    let written = guard.set_data(PATH, "late").await;
    assert!(matches!(written, Err(LockError::Lost { .. })), "{written:?}");
    drop(guard);
    scene.check_free().await;
}

#[tokio::test]
async fn a_node_of_another_session_is_not_taken_for_the_own_one() {
    let scene = Scene::new().await;
    let first = scene.client.session_id().unwrap();
    // The rewritten reply makes the client believe that it was moved to another session.
    let rule = scene.proxy.on_reply(Opcode::CREATE2).rewrite(|reply| {
        /// A stat ends with its owner, the data length, the number of children and a transaction id.
        const FROM_END: usize = 8 + 4 + 4 + 8;
        let mut reply = reply.to_vec();
        let owner = reply.len() - FROM_END;
        reply[owner..owner + 8].copy_from_slice(&7_i64.to_be_bytes());
        reply
    });
    let guard = soon(spawn_lock(&scene.client)).await.unwrap();
    assert_eq!(rule.hits(), 1);
    assert_ne!(scene.client.session_id().unwrap(), first);
    scene.space.until_queued(PATH, 1).await;
    scene.check_held_and_hand_on(guard).await;
}

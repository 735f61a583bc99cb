//! Multi-locks that are dropped, or whose connection breaks, at each of their requests and replies.

use std::time::Duration;

use zklock::{Member, MultiGuard};

use super::{A, B, C, lock, queues, spawn_lock, until_nothing_is_left};
use crate::support::frames::{Frame, Interrupted, Meanwhile};
use crate::support::{Space, soon};

#[tokio::test]
async fn one_dropped_at_any_request_or_reply_leaves_no_node() {
    for frame in Frame::BOTH {
        let scene = Interrupted::new().await;
        let other = scene.space.client().await;
        let work = || {
            let multi = scene.client().multi([C, A, B]).unwrap();
            async move { multi.lock().await.unwrap() }
        };
        let after = async || {
            until_nothing_is_left(&scene.space).await;
            // The client needs a list again after another one has had the lock.
            lock(&other, &[A, B, C]).await.release().await.unwrap();
        };
        let frames = scene.drop_at_each(frame, work, after).await;
        assert!(frames > 5, "{frame:?}: {frames}");
    }
}

#[tokio::test]
async fn one_with_members_of_several_kinds_leaves_no_node_if_it_is_dropped() {
    for frame in Frame::BOTH {
        let scene = Interrupted::new().await;
        let work = || {
            let members = [Member::mutex(A), Member::mutex(B), Member::exclusive(E)];
            let multi = scene.client().multi(members).unwrap();
            async move { multi.lock().await.unwrap() }
        };
        let after = async || {
            for path in [A, B, "/accounts/e/locks", "/accounts/e/leases"] {
                scene.space.until_empty(path).await;
            }
        };
        let frames = scene.drop_at_each(frame, work, after).await;
        assert!(frames > 5, "{frame:?}: {frames}");
    }
}

#[tokio::test]
async fn one_that_gives_its_members_back_leaves_no_node_if_it_is_dropped() {
    for frame in Frame::BOTH {
        let scene = Interrupted::new().await;
        let other = scene.space.client().await;
        let taken = other.mutex(C).unwrap().lock().await.unwrap();
        let work = || {
            let multi = scene.client().multi([A, B, C]).unwrap();
            async move { assert!(multi.try_lock().await.unwrap().is_none()) }
        };
        let after = async || {
            scene.space.until_empty(A).await;
            scene.space.until_empty(B).await;
            scene.space.until_queued(C, 1).await;
        };
        let frames = scene.drop_at_each(frame, work, after).await;
        assert!(frames >= 7, "{frame:?}: {frames}");
        taken.release().await.unwrap();
    }
}

#[tokio::test]
async fn one_that_is_dropped_while_it_waits_leaves_all_queues() {
    let space = Space::new();
    let (client, other) = (space.client().await, space.client().await);
    for taken in [A, B, C] {
        let single = other.mutex(taken).unwrap().lock().await.unwrap();
        let waiting = spawn_lock(&client, &[A, B, C]);
        space.until_queued(taken, 2).await;
        waiting.abort();
        space.until_queued(taken, 1).await;
        single.release().await.unwrap();
        until_nothing_is_left(&space).await;
    }
}

#[tokio::test]
async fn one_cut_off_at_any_request_or_reply_has_all_members_once() {
    for meanwhile in [Meanwhile::Nothing, Meanwhile::SessionEnds] {
        for frame in Frame::BOTH {
            let scene = Interrupted::new().await;
            let other = scene.space.client().await;
            let work = || {
                let multi = scene.client().multi([A, B]).unwrap();
                async move { multi.lock_timeout(Duration::MAX).await.unwrap() }
            };
            let after = async |guard: MultiGuard| {
                match guard.verify().await {
                    Ok(()) => {
                        assert_eq!(queues(&scene.space).await, [1, 1, 0]);
                        guard.release().await.unwrap();
                    }
                    Err(error) => {
                        assert!(error.is_lost() && meanwhile == Meanwhile::SessionEnds, "{error}");
                        drop(guard);
                    }
                }
                until_nothing_is_left(&scene.space).await;
                soon(lock(&scene.client(), &[B])).await.release().await.unwrap();
                // The client needs a list again after another one has had the locks.
                soon(lock(&other, &[A, B])).await.release().await.unwrap();
            };
            let frames = scene.cut_at_each((frame, meanwhile), work, after).await;
            assert!(frames >= 4, "{frame:?} {meanwhile:?}: {frames}");
        }
    }
}

const E: &str = "/accounts/e";

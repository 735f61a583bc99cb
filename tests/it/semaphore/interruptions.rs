//! Acquisitions of permits that are dropped, or whose connection breaks, at each of their requests and
//! replies.

use std::time::Duration;

use zklock::{LockError, SemaphoreGuard};

use super::{GATE, LEASES, semaphore, spawn_take, take, until_nothing_is_left};
use crate::support::frames::{Frame, Interrupted, Meanwhile};
use crate::support::{Space, soon};

const OF: u32 = 3;

#[tokio::test]
async fn a_take_dropped_at_any_request_or_reply_leaves_no_node() {
    for frame in Frame::BOTH {
        let scene = Interrupted::new().await;
        let work = || {
            let semaphore = semaphore(&scene.client(), OF);
            async move { semaphore.acquire_many(2).await.unwrap() }
        };
        let frames =
            scene.drop_at_each(frame, work, async || until_nothing_is_left(&scene.space).await).await;
        assert!(frames > 6, "{frame:?}: {frames}");
        take(&semaphore(&scene.client(), OF), OF).await.release().await.unwrap();
    }
}

#[tokio::test]
async fn a_try_dropped_at_any_request_or_reply_leaves_no_node() {
    for frame in Frame::BOTH {
        let scene = Interrupted::new().await;
        let other = semaphore(&scene.space.client().await, OF);
        let held = take(&other, 2).await;
        scene.space.until_empty(GATE).await;
        let work = || {
            let semaphore = semaphore(&scene.client(), OF);
            async move { assert!(semaphore.try_acquire_many(2).await.unwrap().is_none()) }
        };
        let after = async || {
            scene.space.until_queued(LEASES, 2).await;
            scene.space.until_empty(GATE).await;
        };
        let frames = scene.drop_at_each(frame, work, after).await;
        assert!(frames > 4, "{frame:?}: {frames}");
        held.release().await.unwrap();
        until_nothing_is_left(&scene.space).await;
    }
}

#[tokio::test]
async fn those_who_wait_leave_no_node_when_they_are_dropped() {
    let space = Space::new();
    let (holder, waiter) = (semaphore(&space.client().await, OF), semaphore(&space.client().await, OF));
    let held = take(&holder, 2).await;
    space.until_empty(GATE).await;
    let inside = spawn_take(&waiter, 2);
    space.until_queued(LEASES, 4).await;
    let at_the_gate = spawn_take(&waiter, 1);
    space.until_queued(GATE, 2).await;
    at_the_gate.abort();
    space.until_queued(GATE, 1).await;
    inside.abort();
    space.until_empty(GATE).await;
    space.until_queued(LEASES, 2).await;
    held.release().await.unwrap();
    until_nothing_is_left(&space).await;
}

#[tokio::test]
async fn a_take_dropped_after_any_delay_leaves_no_node_and_no_watch() {
    let space = Space::new();
    let (holder, waiter) = (semaphore(&space.client().await, OF), semaphore(&space.client().await, OF));
    let held = take(&holder, 2).await;
    for micros in (0..6_000).step_by(150) {
        let dropped = tokio::time::timeout(Duration::from_micros(micros), waiter.acquire_many(2)).await;
        assert!(dropped.is_err(), "only one permit is free");
    }
    space.until_empty(GATE).await;
    space.until_queued(LEASES, 2).await;
    held.release().await.unwrap();
    until_nothing_is_left(&space).await;
    let watches = || space.server().four_letter("wchp").unwrap();
    let is_free = || async { !watches().contains(&space.full(super::PATH)) };
    crate::support::until(is_free, "no watch is left").await;
}

/// Checks that the interrupted acquisition has two permits, unless the session ended right after it got them.
async fn check_two(scene: &Interrupted, meanwhile: Meanwhile, taken: Result<SemaphoreGuard, LockError>) {
    let guard = taken.unwrap();
    match guard.verify().await {
        Ok(()) => {
            scene.space.until_empty(GATE).await;
            assert_eq!(scene.space.children(LEASES).await.len(), 2);
            guard.release().await.unwrap();
        }
        Err(error) => {
            assert!(error.is_lost() && meanwhile == Meanwhile::SessionEnds, "{error}");
            drop(guard);
        }
    }
    until_nothing_is_left(&scene.space).await;
}

#[tokio::test]
async fn a_take_cut_off_at_any_request_or_reply_has_its_permits_once() {
    for meanwhile in [Meanwhile::Nothing, Meanwhile::SessionEnds] {
        for frame in Frame::BOTH {
            let scene = Interrupted::new().await;
            // This creates the parents.
            take(&semaphore(&scene.client(), OF), 1).await.release().await.unwrap();
            let work = || {
                let semaphore = semaphore(&scene.client(), OF);
                async move { semaphore.acquire_many_timeout(2, Duration::MAX).await }
            };
            let after = async |taken| check_two(&scene, meanwhile, taken).await;
            let frames = scene.cut_at_each((frame, meanwhile), work, after).await;
            assert!(frames > 6, "{frame:?} {meanwhile:?}: {frames}");
        }
    }
}

#[tokio::test]
async fn a_release_cut_off_at_any_request_or_reply_gives_all_permits_back() {
    for meanwhile in [Meanwhile::Nothing, Meanwhile::SessionEnds] {
        for frame in Frame::BOTH {
            let scene = Interrupted::new().await;
            let work = || {
                let semaphore = semaphore(&scene.client(), OF);
                async move { semaphore.acquire_many_timeout(OF, Duration::MAX).await?.release().await }
            };
            let after = async |released: Result<(), LockError>| {
                if let Err(error) = released {
                    assert!(error.is_lost() && meanwhile == Meanwhile::SessionEnds, "{error}");
                }
                until_nothing_is_left(&scene.space).await;
                soon(take(&semaphore(&scene.client(), OF), OF)).await.release().await.unwrap();
                until_nothing_is_left(&scene.space).await;
            };
            let frames = scene.cut_at_each((frame, meanwhile), work, after).await;
            assert!(frames > 9, "{frame:?} {meanwhile:?}: {frames}");
        }
    }
}

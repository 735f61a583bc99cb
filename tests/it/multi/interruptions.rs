//! Multi-locks that are dropped, or whose connection breaks, at each of their requests and replies.

use zklock::Member;

use super::{A, B, C};
use crate::support::frames::{Frame, Interrupted};

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

const E: &str = "/accounts/e";

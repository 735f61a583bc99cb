//! Candidates that the servers refuse for a while, and that run once they no longer do.

use std::future::pending;
use std::time::Duration;

use zklock::{Acl, Client, LockError};
use zookeeper_client as zk;

use crate::support::{SOON, Space, failed, soon, until};

const PATH: &str = "/closed/leader";

/// Creates a node below which only its owner may create nodes.
pub(super) async fn close_path(space: &Space) -> Client {
    let owner = space.config().digest("owner", "secret").acl(Acl::CreatorAll).connect().await.unwrap();
    owner.mutex("/closed/x").unwrap().lock().await.unwrap().release().await.unwrap();
    owner
}

/// Lets everybody create nodes there.
pub(super) async fn open_path(space: &Space) {
    let outsider = space.outsider().await;
    outsider.auth("digest", b"owner:secret").await.unwrap();
    outsider.set_acl(&space.full("/closed"), &zk::Acls::anyone_all(), None).await.unwrap();
}

#[tokio::test]
async fn a_latch_that_was_denied_leads_once_it_is_permitted() {
    let space = Space::new();
    close_path(&space).await;
    let latch = space.client().await.leader_latch(PATH).unwrap();
    for _ in 0..2 {
        assert!(matches!(failed(soon(latch.leadership()).await), LockError::Denied { .. }));
        assert!(matches!(failed(soon(latch.settled()).await), LockError::Denied { .. }));
    }
    assert!(matches!(latch.failure(), Some(LockError::Denied { .. })));
    assert!(!latch.is_leader() && latch.current().is_none());
    let mut changes = latch.changes();
    assert_eq!(soon(changes.next()).await, Some(false));
    open_path(&space).await;
    assert_eq!(soon(changes.next()).await, Some(true), "it leads");
    soon(latch.leadership()).await.unwrap();
    soon(latch.settled()).await.unwrap();
    assert!(latch.failure().is_none());
    soon(latch.close()).await.unwrap();
    assert_eq!((soon(changes.next()).await, soon(changes.next()).await), (Some(false), None));
    space.until_empty(PATH).await;
}

#[tokio::test]
async fn a_shared_candidate_that_was_denied_leads_once_it_is_permitted() {
    let space = Space::new();
    close_path(&space).await;
    let client = space.client().await;
    let leader = client.leader(PATH).unwrap();
    for _ in 0..2 {
        assert!(matches!(failed(soon(leader.leadership()).await), LockError::Denied { .. }));
        assert!(matches!(failed(soon(leader.term()).await), LockError::Denied { .. }));
        assert!(matches!(failed(soon(leader.join()).await), LockError::Denied { .. }));
    }
    assert!(matches!(leader.failure(), Some(LockError::Denied { .. })));
    open_path(&space).await;
    until(|| async { leader.term().await.is_ok_and(|term| term.is_some()) }, "it leads").await;
    assert!(leader.failure().is_none());
    assert!(client.leader(PATH).unwrap().join().await.unwrap());
    assert_eq!(space.children(PATH).await.len(), 1);
}

#[tokio::test]
async fn a_candidate_leads_once_the_contender_of_another_recipe_is_gone() {
    let space = Space::new();
    let guard = space.client().await.mutex("/shared").unwrap().lock().await.unwrap();
    let leader = space.client().await.leader("/shared").unwrap();
    for _ in 0..2 {
        assert!(matches!(failed(soon(leader.term()).await), LockError::MixedRecipes { .. }));
    }
    assert!(guard.is_held());
    guard.release().await.unwrap();
    until(|| async { leader.term().await.is_ok_and(|term| term.is_some()) }, "it leads").await;
}

#[tokio::test]
async fn a_candidate_that_waits_to_try_again_ends_at_once_when_it_is_closed() {
    let space = Space::new();
    close_path(&space).await;
    let client = space.client().await;
    let (latch, other) = (client.leader_latch(PATH).unwrap(), client.leader_latch(PATH).unwrap());
    let selector = client.election("/closed/b").unwrap().auto_requeue().select(|_| pending::<()>());
    until(|| async { selector.last_failure().is_some() }, "it is refused").await;
    failed(soon(latch.leadership()).await);
    failed(soon(other.leadership()).await);
    soon(latch.close()).await.unwrap();
    soon(selector.close()).await.unwrap();
    soon(client.shutdown(SOON * 10)).await;
    assert!(failed(soon(other.leadership()).await).is_closed());
}

#[tokio::test]
async fn a_candidate_that_is_elected_after_a_refusal_follows_until_the_handover_is_over() {
    let space = Space::new();
    close_path(&space).await;
    let election = space.client().await.election(PATH).unwrap();
    let latch = election.handover(Duration::from_secs(3_600)).latch();
    failed(soon(latch.leadership()).await);
    assert!(latch.failure().is_some());
    open_path(&space).await;
    until(|| async { latch.failure().is_none() }, "it is no longer refused").await;
    assert!(!latch.is_leader());
    soon(latch.settled()).await.unwrap();
    soon(latch.close()).await.unwrap();
}

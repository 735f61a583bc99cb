//! Candidates that lead until they are closed: Curator's `TestLeaderLatch`.

use std::time::Duration;

use zklock::{LossReason, Mode, Policy, Standing};

use crate::support::{PATIENCE, Server, Space, failed, soon};

const PATH: &str = "/sweeper";
#[tokio::test]
async fn candidates_are_listed_by_their_ids_and_all_see_the_same_leader() {
    let space = Space::new();
    let candidate =
        async |id: &str| space.client().await.election(PATH).unwrap().identity(id).unwrap().latch();
    let first = candidate("first").await;
    space.until_queued(PATH, 1).await;
    assert_eq!(first.leader().await.unwrap().unwrap().identity, "first");
    let second = candidate("second").await;
    space.until_queued(PATH, 2).await;
    for latch in [&first, &second] {
        let seen = latch.participants().await.unwrap();
        let seen: Vec<_> = seen.iter().map(|p| (p.identity.as_str(), p.mode, p.standing)).collect();
        assert_eq!(
            seen,
            [("first", Mode::Leader, Standing::Holds), ("second", Mode::Leader, Standing::Waits)]
        );
        assert_eq!(latch.leader().await.unwrap().unwrap().identity, "first");
    }
}

#[tokio::test]
async fn a_candidate_without_a_server_waits_for_its_first_answer_and_has_it_later() {
    let server = Server::start();
    let client = server.client(Duration::from_secs(10)).await;
    server.pause().unwrap();
    let latch = client.leader_latch(PATH).unwrap();
    let error = failed(soon(latch.settled_timeout(Duration::from_millis(100))).await);
    assert!(error.is_timeout() && !error.is_contended(), "{error}");
    server.resume().unwrap();
    soon(latch.settled()).await.unwrap();
    assert!(latch.is_leader());
}

#[tokio::test]
async fn a_leader_that_resigns_goes_to_the_tail() {
    let space = Space::new();
    let first = space.client().await.leader_latch(PATH).unwrap();
    let term = soon(first.leadership()).await.unwrap();
    let second = space.client().await.leader_latch(PATH).unwrap();
    space.until_queued(PATH, 2).await;
    term.resign();
    assert_eq!(soon(term.lost()).await, LossReason::Resigned);
    let next = soon(second.leadership()).await.unwrap();
    assert!(!first.is_leader());
    // The first one has entered again.
    space.until_queued(PATH, 2).await;
    next.resign();
    soon(first.leadership()).await.unwrap();
}

#[tokio::test]
async fn an_outage_ends_a_term_or_not_by_the_policy_and_the_node_stays() {
    let server = Server::start_granting(PATIENCE);
    let connect = async || server.client(PATIENCE).await;
    let careful = connect().await.election("/careful").unwrap().policy(Policy::GiveUpWhenSuspended).latch();
    let patient = connect().await.election("/patient").unwrap().latch();
    let (term, other) =
        (soon(careful.leadership()).await.unwrap(), soon(patient.leadership()).await.unwrap());
    let nodes = async || {
        let (one, two) = (careful.participants().await.unwrap(), patient.participants().await.unwrap());
        (one[0].node.clone(), two[0].node.clone())
    };
    let before = nodes().await;
    server.kill().unwrap();
    assert_eq!(soon(term.lost()).await, LossReason::Suspended);
    assert!(!careful.is_leader() && patient.is_leader());
    server.restart().unwrap();
    let again = soon(careful.leadership()).await.unwrap();
    assert!(again.fencing_token() > term.fencing_token(), "each term has an epoch of its own");
    assert!(other.is_leading());
    assert_eq!(nodes().await, before);
}

#[tokio::test]
async fn changes_are_told_and_end_with_the_latch() {
    let space = Space::new();
    let latch = space.client().await.leader_latch(PATH).unwrap();
    let mut changes = latch.changes();
    soon(latch.leadership()).await.unwrap();
    while soon(changes.next()).await != Some(true) {}
    latch.close().await.unwrap();
    assert_eq!(soon(changes.next()).await, Some(false));
    assert_eq!(soon(changes.next()).await, None);
}

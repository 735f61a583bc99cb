//! Candidates that lead while a callback runs: Curator's `TestLeaderSelector`.

use zklock::LockError;

use super::select;
use crate::support::{Space, failed, soon, until};

const PATH: &str = "/sweeper";

#[tokio::test]
async fn selectors_list_the_candidates_of_their_election_and_see_the_same_leader() {
    let space = Space::new();
    let candidate = async |id| select(space.client().await.election(PATH).unwrap().identity(id).unwrap());
    let (first, _terms) = candidate("first").await;
    space.until_queued(PATH, 1).await;
    let (second, _terms) = candidate("second").await;
    space.until_queued(PATH, 2).await;
    for selector in [&first, &second] {
        assert_eq!(selector.path(), PATH);
        let listed = selector.participants().await.unwrap();
        assert_eq!(listed.iter().map(|one| &*one.identity).collect::<Vec<_>>(), ["first", "second"]);
        assert_eq!(selector.leader().await.unwrap().unwrap().identity, "first");
    }
}

#[tokio::test]
async fn callback_whose_session_ends_is_dropped_and_runs_again_behind_the_others_when_asked() {
    let (space, client) = Space::with_client().await;
    let (first, mut led) = select(client.election(PATH).unwrap());
    let term = soon(led.recv()).await.unwrap();
    let (second, mut led) = select(space.client().await.election(PATH).unwrap());
    space.until_queued(PATH, 2).await;
    space.end_session_of(&client);
    soon(term.lost()).await;
    let next = soon(led.recv()).await.unwrap();
    // A session that is ended by force may be confirmed once more before its client is told.
    until(|| async { !first.has_leadership() }, "the first is told").await;
    assert!(second.has_leadership());
    assert!(next.fencing_token() > term.fencing_token());
    assert!(first.requeue());
    space.until_queued(PATH, 2).await;
    assert!(!first.has_leadership());
    second.close().await.unwrap();
    until(|| async { first.has_leadership() }, "it leads again").await;
}

#[tokio::test]
async fn a_callback_that_fails_or_panics_is_reported_and_gives_leadership_up() {
    let space = Space::new();
    let election = async || space.client().await.election(PATH).unwrap();
    let failing = election().await.select(async |_| Err::<(), _>("no disk"));
    until(|| async { failing.last_failure().is_some() }, "it failed").await;
    assert_eq!(failing.last_failure().unwrap(), "no disk");
    space.until_empty(PATH).await;
    let panicking = election().await.select(async |_| assert!(space_is_odd(), "a bug"));
    until(|| async { panicking.last_failure().is_some() }, "it panicked").await;
    assert!(panicking.last_failure().unwrap().contains("panic"));
    space.until_empty(PATH).await;
    let without_a_future = election().await.select(|_| {
        assert!(space_is_odd(), "another bug");
        std::future::ready(())
    });
    until(|| async { without_a_future.last_failure().is_some() }, "it panicked").await;
    assert!(without_a_future.last_failure().unwrap().contains("another bug"));
    space.until_empty(PATH).await;
    assert!(!without_a_future.has_leadership());
    assert!(without_a_future.requeue(), "it would run again");
}

fn space_is_odd() -> bool {
    std::hint::black_box(false)
}

#[tokio::test]
async fn an_id_that_is_too_long_or_reserved_is_refused() {
    let space = Space::new();
    let election = space.client().await.election(PATH).unwrap();
    for id in ["x".repeat(2_000), "__REVOKE__".to_owned()] {
        let error = failed(election.clone().identity(id));
        assert!(matches!(error, LockError::InvalidConfig { setting: "identity", .. }), "{error}");
    }
}

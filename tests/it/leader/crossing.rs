//! Candidates whose requests cross: a reply is held back while the queue changes.

use zklock_testkit::wire::Opcode;

use crate::support::{Space, soon, until};

const PATH: &str = "/sweeper";

#[tokio::test]
async fn a_leader_and_a_follower_that_run_again_at_once_never_both_lead() {
    let space = Space::new();
    let ((leading, one), (following, other)) = (space.proxied().await, space.proxied().await);
    let first = one.leader_latch(PATH).unwrap();
    let term = soon(first.leadership()).await.unwrap();
    let second = other.leader_latch(PATH).unwrap();
    soon(second.settled()).await.unwrap();
    let nobody_leads = || !first.is_leader() && !second.is_leader();

    // The follower is back in the queue before the leader's old node is gone.
    let (delete, create) =
        (leading.on_request(Opcode::DELETE).always(), following.on_request(Opcode::CREATE2).always());
    let (delete, create) = (delete.hold(), create.hold());
    term.resign();
    space.end_session_of(&other);
    soon(delete.struck()).await;
    soon(create.struck()).await;
    assert!(nobody_leads());
    create.release();
    space.until_queued(PATH, 2).await;
    assert!(nobody_leads());
    delete.release();
    let next = soon(second.leadership()).await.unwrap();
    assert!(next.fencing_token() > term.fencing_token());
    space.until_queued(PATH, 2).await;
    assert!(!first.is_leader() && !term.is_leading());

    // The leader is back in the queue before the follower is.
    let create = leading.on_request(Opcode::CREATE2).always().hold();
    space.end_session_of(&one);
    soon(create.struck()).await;
    next.resign();
    let last = soon(second.leadership()).await.unwrap();
    assert!(last.fencing_token() > next.fencing_token());
    create.release();
    space.until_queued(PATH, 2).await;
    assert!(last.is_leading() && !next.is_leading() && !first.is_leader());
    second.close().await.unwrap();
    soon(first.leadership()).await.unwrap();
}

#[tokio::test]
async fn two_candidates_whose_predecessors_go_behind_the_back_of_their_lists_keep_their_nodes() {
    let space = Space::new();
    let first = space.client().await.leader_latch(PATH).unwrap();
    soon(first.leadership()).await.unwrap();
    let ((one, a), (other, b)) = (space.proxied().await, space.proxied().await);
    let lists = [&one, &other].map(|proxy| proxy.on_reply(Opcode::GET_CHILDREN).hold());
    let second = a.leader_latch(PATH).unwrap();
    space.until_queued(PATH, 2).await;
    let third = b.leader_latch(PATH).unwrap();
    space.until_queued(PATH, 3).await;
    for list in &lists {
        soon(list.struck()).await;
    }
    let nodes = space.children(PATH).await.len();
    first.close().await.unwrap();
    // The last candidate gets its list first, and the list is outdated.
    lists.iter().rev().for_each(|list| list.release());
    soon(second.leadership()).await.unwrap();
    assert!(!third.is_leader());
    assert_eq!([&one, &other].map(|proxy| proxy.requests(Opcode::CREATE2)), [1, 1]);
    until(|| async { space.children(PATH).await.len() == nodes - 1 }, "no node was added").await;
    second.close().await.unwrap();
    soon(third.leadership()).await.unwrap();
    assert_eq!(other.requests(Opcode::CREATE2), 1);
}

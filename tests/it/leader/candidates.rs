//! The candidates of an election, their list, and candidates whose nodes are deleted.

use std::future::{pending, ready};

use zklock::{Ended, LockError, LossReason, Policy};
use zklock_testkit::wire::Opcode;
use zklock_testkit::{Direction, How};

use crate::support::session_end::end_session;
use crate::support::{Space, soon, until};

const PATH: &str = "/sweeper";

#[tokio::test]
async fn a_selector_does_not_run_where_latches_do() {
    let space = Space::new();
    let latch = space.client().await.leader_latch(PATH).unwrap();
    soon(latch.leadership()).await.unwrap();
    let selector = space.client().await.election(PATH).unwrap().select(|_| pending::<()>());
    assert!(matches!(soon(selector.ended()).await, Ended::Failed(LockError::MixedRecipes { .. })));
    assert!(latch.is_leader());
    space.until_queued(PATH, 1).await;
}

#[tokio::test]
async fn a_leader_whose_node_is_deleted_while_it_is_cut_off_runs_again_with_one_node() {
    let space = Space::new();
    let (proxy, client) = space.proxied().await;
    let latch = client.election(PATH).unwrap().policy(Policy::GiveUpWhenSuspended).latch();
    let term = soon(latch.leadership()).await.unwrap();
    proxy.refuse();
    proxy.cut(How::Rst);
    assert_eq!(soon(term.lost()).await, LossReason::Suspended);
    space.delete_children(PATH).await;
    proxy.heal();
    let again = soon(latch.leadership()).await.unwrap();
    assert!(again.fencing_token().zxid() > term.fencing_token().zxid(), "with another node");
    assert_eq!(space.children(PATH).await.len(), 1);
}

#[tokio::test]
async fn a_leader_does_not_lead_with_the_node_of_its_last_session() {
    let space = Space::new();
    let (proxy, client) = space.proxied().await;
    let latch = client.leader_latch(PATH).unwrap();
    let term = soon(latch.leadership()).await.unwrap();
    let old = crate::recovery::expire_for_the_client_alone(&proxy, &client).await;
    assert!(!latch.is_leader() && !term.is_leading());
    space.until_queued(PATH, 2).await;
    let listed = latch.participants().await.unwrap();
    assert_eq!((listed[0].session_id, Some(listed[1].session_id)), (old, client.session_id()));
    assert!(!latch.is_leader(), "the old node is the head");
    end_session(space.server().address(), old);
    let next = soon(latch.leadership()).await.unwrap();
    assert_eq!(next.fencing_token(), listed[1].fencing_token);
}

#[tokio::test]
async fn an_idle_leader_is_demoted_before_its_session_can_expire() {
    let space = Space::quick();
    let (proxy, client) = space.proxied().await;
    let election = client.election(PATH).unwrap().policy(Policy::GiveUpWhenLost);
    let latch = election.latch();
    let term = soon(latch.leadership()).await.unwrap();
    let second = space.client().await.leader_latch(PATH).unwrap();
    space.until_queued(PATH, 2).await;
    proxy.blackhole(Direction::Both);
    assert_eq!(soon(term.lost()).await, LossReason::LeaseExpired);
    assert!(!latch.is_leader());
    assert!(!second.is_leader(), "the servers still keep the session");
    let next = soon(second.leadership()).await.unwrap();
    assert!(next.fencing_token() > term.fencing_token());
}

#[tokio::test]
async fn a_create_whose_reply_is_lost_leaves_one_node_and_none_afterwards() {
    let space = Space::new();
    let (proxy, client) = space.proxied().await;
    let cut = proxy.on_reply(Opcode::CREATE2).cut(How::Rst);
    let selector = client.election(PATH).unwrap().auto_requeue().select(|_| pending::<()>());
    soon(cut.struck()).await;
    until(|| async { selector.has_leadership() }, "it leads").await;
    assert_eq!(space.children(PATH).await.len(), 1);
    let next = space.client().await.election(PATH).unwrap().select(|_| ready(()));
    space.until_queued(PATH, 2).await;
    selector.close().await.unwrap();
    space.until_empty(PATH).await;
    next.close().await.unwrap();
}

//! The library's own lock.

use zklock_testkit::wire::Opcode;
use zookeeper_client as zk;

use super::{LOCK, proxied};
use crate::support::{Space, soon, until};

#[tokio::test]
async fn a_lock_that_is_cancelled_during_its_create_leaves_its_node() {
    let space = Space::new();
    let (proxy, client) = proxied(&space).await;
    let container = zk::CreateMode::Container.with_acls(zk::Acls::anyone_all());
    client.mkdir(&space.namespace, &container).await.unwrap();

    let created = proxy.on_reply(Opcode::CREATE2).hold();
    let prefix = zk::LockPrefix::new_curator(&space.namespace, "lock-").unwrap();
    tokio::select! {
        biased;
        () = soon(created.struck()) => {}
        locked = client.lock(prefix, b"", zk::Acls::anyone_all()) => panic!("locked without an answer: {locked:?}"),
    }
    created.release();
    // The library lists the children to find the node that it has to delete.
    until(async || proxy.replies(Opcode::GET_CHILDREN) == 1, "the children are listed").await;
    // By the third answer, the library has seen the list and has sent the delete.
    for _ in 0..3 {
        client.check_stat("/").await.unwrap();
    }
    assert_eq!(proxy.requests(Opcode::DELETE), 0, "{LOCK}");
    assert_eq!(space.children("").await.len(), 1, "{LOCK}");
}

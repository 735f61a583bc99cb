//! The nodes above the contenders: they are created on demand, deleted when used up, and may be wiped.

use std::time::Duration;

use tokio::task::JoinSet;
use zklock::{Acl, Config, LockError, LossReason, Permits};
use zklock_testkit::Proxy;
use zklock_testkit::wire::Opcode;
use zookeeper_client as zk;

use crate::support::{Server, Space, TICK, failed, lock, soon, until, until_in_line};

const PATH: &str = "/shop/orders/7";

/// Deletes a node and all nodes below it, while others may create nodes there.
async fn wipe(outsider: &zk::Client, path: &str) {
    loop {
        for child in outsider.list_children(path).await.unwrap_or_default() {
            Box::pin(wipe(outsider, &format!("{path}/{child}"))).await;
        }
        match outsider.delete(path, None).await {
            Err(zk::Error::NotEmpty) => {}
            deleted => return assert!(matches!(deleted, Ok(()) | Err(zk::Error::NoNode)), "{deleted:?}"),
        }
    }
}

#[tokio::test]
async fn a_parent_whose_first_contender_gave_up_goes_with_the_next_one() {
    let server = Server::start_reaping();
    let proxy = Proxy::start(server.address()).unwrap();
    let config = Config::new(proxy.connect_string()).session_timeout(20 * TICK).server_timeout(8 * TICK);
    let client = config.tick_time(TICK).connect().await.unwrap();
    let outsider = server.outsider().await;
    // The parents exist, and the client that created them gives up before it has a contender.
    let made = proxy.on_reply(Opcode::CREATE_CONTAINER).nth(3).hold();
    let mutex = client.mutex(PATH).unwrap();
    let locking = tokio::spawn(async move { mutex.lock().await.map(drop) });
    soon(made.struck()).await;
    locking.abort();
    assert!(failed(locking.await).is_cancelled());
    made.release();
    soon(lock(&client, PATH)).await.release().await.unwrap();
    until(async || outsider.check_stat("/shop").await.unwrap().is_none(), "the parents are gone").await;
}

#[tokio::test]
async fn a_wiped_tree_is_told_to_the_holder_and_entered_again_by_waiters() {
    let (space, [client, other]) = Space::with_clients().await;
    let late = lock(&client, PATH).await;
    let mut waiting = JoinSet::new();
    for client in [client.clone(), other.clone(), other.clone()] {
        waiting.spawn(async move { lock(&client, PATH).await.release().await });
    }
    space.until_queued(PATH, 2).await;
    until_in_line(&client.mutex(PATH).unwrap(), 1).await;
    wipe(&space.outsider().await, &space.namespace).await;
    assert_eq!(soon(late.lost()).await, LossReason::NodeDeleted);
    for released in soon(waiting.join_all()).await {
        // The turn of a waiter may have come just before its own node was deleted.
        assert!(released.is_ok() || failed(released).is_lost());
    }

    // Sequence numbers start again with the parent. The late holder must not take another node for its own.
    let next = lock(&other, PATH).await;
    assert!(next.fencing_token() > late.fencing_token());
    assert!(failed(late.release().await).is_lost());
    next.verify().await.unwrap();
    assert_eq!(space.children(PATH).await.len(), 1);
    next.release().await.unwrap();
    space.until_empty(PATH).await;
}

#[tokio::test]
async fn a_waiter_that_finds_no_parent_any_more_enters_again() {
    let (space, proxy, client) = Space::with_proxy().await;
    let holder = lock(&space.client().await, PATH).await;
    let waiting = tokio::spawn(async move { lock(&client, PATH).await });
    until(|| async { proxy.replies(Opcode::GET_DATA) > 0 }, "the waiter watches").await;
    let list = proxy.on_request(Opcode::GET_CHILDREN).hold();
    let outsider = space.outsider().await;
    let in_front = space.client().await.mutex(PATH).unwrap().participants().await.unwrap().remove(0).node;
    outsider.set_data(&space.full(&format!("{PATH}/{in_front}")), b"changed", None).await.unwrap();
    soon(list.struck()).await;
    wipe(&outsider, &space.namespace).await;
    soon(holder.lost()).await;
    list.release();
    let guard = soon(waiting).await.unwrap();
    guard.verify().await.unwrap();
}

#[tokio::test]
async fn servers_that_come_back_without_their_data_are_used_like_new_ones() {
    let server = Server::start_quick();
    let connect = async || server.quick_config().default_wait(Duration::MAX).connect().await.unwrap();
    let (client, other) = (connect().await, connect().await);
    let guard = lock(&client, PATH).await;
    let waiting = tokio::spawn(async move { lock(&other, PATH).await });
    let mutex = client.mutex(PATH).unwrap();
    until(|| async { mutex.participants().await.unwrap().len() == 2 }, "the other waits").await;
    server.restart_empty().unwrap();
    soon(guard.lost()).await;
    let next = soon(waiting).await.unwrap();
    next.verify().await.unwrap();
    drop(guard);
    assert!(mutex.try_lock().await.unwrap().is_none());
    assert_eq!(mutex.participants().await.unwrap().len(), 1);
    next.release().await.unwrap();
    soon(mutex.lock()).await.unwrap().release().await.unwrap();
}

#[tokio::test]
async fn only_the_nodes_above_locks_ticks_numbers_and_data_have_the_acl_of_parents() {
    let space = Space::new();
    let parents = Acl::entries(["auth::cdrwa", "world:anyone:cr"]);
    let config = space.config().digest("owner", "secret").acl(Acl::CreatorAll).parent_acl(parents);
    let client = config.connect().await.unwrap();
    let guard = lock(&client, PATH).await;
    let permit = client.semaphore("/rooms/a", 2).unwrap().acquire().await.unwrap();
    let shared = client.semaphore("/halls/a", Permits::shared("/counts/halls/a", 3)).unwrap();
    let shared = shared.acquire().await.unwrap();
    guard.upsert("/data/a/b", b"").await.unwrap();
    assert!(guard.once_per("/ticks/a/b", Duration::from_secs(60)).await.unwrap());

    let owner = space.outsider().await;
    owner.auth("digest", b"owner:secret").await.unwrap();
    let (mut nodes, mut above) = (vec![space.namespace.clone()], Vec::new());
    while let Some(node) = nodes.pop() {
        let (acls, _) = owner.get_acl(&node).await.unwrap();
        let schemes: Vec<_> = acls.iter().map(|acl| acl.scheme()).collect();
        match schemes[..] {
            ["digest"] => {}
            ["digest", "world"] => above.push(node[space.namespace.len()..].to_owned()),
            _ => panic!("{node}: {acls:?}"),
        }
        nodes.extend(owner.list_children(&node).await.unwrap().iter().map(|name| format!("{node}/{name}")));
    }
    above.sort();
    let expected = ["", "/counts", "/counts/halls", "/data", "/data/a", "/halls", "/rooms", "/shop"];
    assert_eq!(above, [&expected[..], &["/shop/orders", "/ticks", "/ticks/a"]].concat());
    for released in [guard.release().await, permit.release().await, shared.release().await] {
        released.unwrap();
    }
}

#[tokio::test]
async fn parents_without_an_acl_of_their_own_have_that_of_the_other_nodes() {
    for (acl, scheme) in [(Acl::CreatorAll, "digest"), (Acl::Open, "world")] {
        let space = Space::new();
        let client = space.config().digest("owner", "secret").acl(acl).connect().await.unwrap();
        let guard = lock(&client, PATH).await;
        let owner = space.outsider().await;
        owner.auth("digest", b"owner:secret").await.unwrap();
        for node in ["", "/shop", "/shop/orders", PATH] {
            let (acls, _) = owner.get_acl(&space.full(node)).await.unwrap();
            assert!(acls.len() == 1 && acls[0].scheme() == scheme, "{node}: {acls:?}");
            assert_eq!(acls[0].permission(), zk::Permission::ALL);
        }
        guard.release().await.unwrap();
    }
}

#[tokio::test]
async fn ancestors_that_exist_need_no_permission() {
    let space = Space::new();
    space.restrict("/shop", zk::Permission::ALL).await;
    space.restrict("", zk::Permission::NONE).await;
    let client = space.client().await;
    let guard = lock(&client, PATH).await;
    assert!(guard.is_held());
    assert_eq!(client.mutex(PATH).unwrap().participants().await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_parent_that_may_not_be_created_is_denied_once_and_not_retried() {
    let space = Space::new();
    space.restrict("/shop", zk::Permission::ALL).await;
    space.restrict("", zk::Permission::READ).await;
    let (proxy, client) = space.proxied().await;
    let error = failed(soon(client.mutex("/store/1").unwrap().lock_timeout(Duration::MAX)).await);
    assert!(matches!(&error, LockError::Denied { path, .. } if path == "/store/1"), "{error}");
    // The lock is created with its first contender, unless the node above is missing, which is denied.
    let opcodes = [Opcode::MULTI, Opcode::CREATE_CONTAINER, Opcode::CREATE2];
    // One more transaction begins the connection.
    assert_eq!(opcodes.map(|opcode| proxy.requests(opcode)), [2, 1, 0]);
}

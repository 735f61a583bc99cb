//! A queue that is created together with its first contender, as zklock takes a lock whose node does not exist.

use bytes::Bytes;
use zklock_testkit::wire::{
    Create, CreateFlags, ErrorCode, Op, OpResult, Request, Response, SetData, Stat, permissions,
};

use crate::case::cases;
use crate::client::{Client, children_changed, created, world};
use crate::server::Server;

cases! {
    the_first_contender_has_number_0,
    the_queue_may_be_created_by_either_operation,
    the_data_has_the_session_and_the_transaction_in_its_stat,
    a_contender_has_no_stat_or_that_of_its_creation,
    nothing_is_created_if_the_queue_exists,
    nothing_is_created_if_the_parent_is_missing,
    nothing_is_created_if_the_number_is_another,
    the_parent_must_allow_to_create,
    the_queue_must_allow_to_create,
    the_contender_must_allow_to_write,
    one_of_two_creates_the_queue,
    events_are_told_once,
}

const NUMBER_0: &str = "/c-lock-0000000000";

/// The nodes of a queue `/q` with its first contender, and how they are created.
struct Taking {
    queue: Create,
    contender: Create,
    identity: SetData,
}

impl Taking {
    fn of(server: &Server) -> Self {
        Self::at(&server.path("/q"))
    }

    fn at(queue: &str) -> Self {
        let identity = Some(Bytes::from("me"));
        Self {
            queue: Create::new(queue, "", CreateFlags::CONTAINER),
            contender: Create::new(format!("{queue}/c-lock-"), "", CreateFlags::EPHEMERAL_SEQUENTIAL),
            identity: SetData { path: format!("{queue}{NUMBER_0}"), data: identity, version: -1 },
        }
    }

    fn ops(self) -> Vec<Op> {
        vec![Op::CreateContainer(self.queue), Op::Create2(self.contender), Op::SetData(self.identity)]
    }

    async fn ask(self, client: &mut Client) -> Vec<OpResult> {
        multi(client, self.ops()).await
    }

    /// Takes the lock, and returns the stat of the data.
    async fn take(self, client: &mut Client) -> Stat {
        let results = self.ask(client).await;
        let [_, _, OpResult::DataSet(stat)] = results[..] else { panic!("{results:?}") };
        stat
    }

    /// Asserts that the operation at this index fails, and that nothing is created.
    async fn assert_refused(self, client: &mut Client, server: &Server, index: usize, error: ErrorCode) {
        let before = client.children2(&server.path("")).await.unwrap();
        let mut expected = [ErrorCode::RUNTIME_INCONSISTENCY; 3];
        expected[..index].fill(ErrorCode::OK);
        expected[index] = error;
        assert_eq!(self.ask(client).await, expected.map(OpResult::Failed));
        assert_eq!(client.children2(&server.path("")).await.unwrap(), before);
    }
}

async fn multi(client: &mut Client, ops: Vec<Op>) -> Vec<OpResult> {
    match client.ask(Request::Multi(ops)).await {
        Ok(Response::Multi(results)) => results,
        other => panic!("{other:?}"),
    }
}

/// Returns the path and the stat of a create. Before 3.7.2 and 3.8.2, there is no stat.
fn made(result: &OpResult) -> (&str, Option<Stat>) {
    match result {
        OpResult::Created(path) => (path, None),
        OpResult::Created2 { path, stat, .. } => (path, Some(*stat)),
        other => panic!("{other:?}"),
    }
}

async fn the_first_contender_has_number_0(server: &Server) {
    let mut client = server.client().await;
    let results = Taking::of(server).ask(&mut client).await;
    let contender = server.path(&format!("/q{NUMBER_0}"));
    assert_eq!((made(&results[0]).0, made(&results[1]).0), (&*server.path("/q"), &*contender));
    assert_eq!(client.children(&server.path("/q")).await, Ok(vec![NUMBER_0[1..].into()]));
    assert_eq!(client.data(&contender).await.unwrap().0, Some(Bytes::from("me")));
}

async fn the_queue_may_be_created_by_either_operation(server: &Server) {
    let mut client = server.client().await;
    let Taking { queue, contender, identity } = Taking::of(server);
    let ops = vec![Op::Create(queue), Op::Create(contender), Op::SetData(identity)];
    let results = multi(&mut client, ops).await;
    let contender = server.path(&format!("/q{NUMBER_0}"));
    assert_eq!(results[1], OpResult::Created(contender.clone()));
    let OpResult::DataSet(stat) = results[2] else { panic!("{results:?}") };
    assert_eq!(client.stat(&contender).await, Ok(stat));
}

async fn the_data_has_the_session_and_the_transaction_in_its_stat(server: &Server) {
    let mut client = server.client().await;
    let reply = client.full(Request::Multi(Taking::of(server).ops())).await;
    let Ok(Response::Multi(results)) = reply.outcome else { panic!("{reply:?}") };
    let OpResult::DataSet(stat) = results[2] else { panic!("{results:?}") };
    assert_eq!((stat.czxid, stat.mzxid, stat.pzxid), (reply.zxid, reply.zxid, reply.zxid));
    assert_eq!(stat.ephemeral_owner, client.session_id());
    assert_eq!((stat.version, stat.cversion, stat.data_length, stat.num_children), (1, 0, 2, 0));
    assert_eq!(client.stat(&server.path(&format!("/q{NUMBER_0}"))).await, Ok(stat));
    let queue = client.stat(&server.path("/q")).await.unwrap();
    assert_eq!((queue.czxid, queue.pzxid), (reply.zxid, reply.zxid));
    assert_eq!((queue.version, queue.cversion, queue.num_children, queue.ephemeral_owner), (0, 1, 1, 0));
}

/// The stat of a create in a transaction depends on the version of ZooKeeper, so zklock uses that of the data.
async fn a_contender_has_no_stat_or_that_of_its_creation(server: &Server) {
    let mut client = server.client().await;
    let results = Taking::of(server).ask(&mut client).await;
    let OpResult::DataSet(after) = results[2] else { panic!("{results:?}") };
    if let (_, Some(stat)) = made(&results[1]) {
        assert_eq!((stat.czxid, stat.ephemeral_owner), (after.czxid, after.ephemeral_owner));
        assert_eq!((stat.version, stat.data_length), (0, 0));
    }
    if let (_, Some(stat)) = made(&results[0]) {
        assert_eq!((stat.czxid, stat.ephemeral_owner, stat.cversion), (after.czxid, 0, 0));
    }
}

async fn nothing_is_created_if_the_queue_exists(server: &Server) {
    let (mut one, mut other) = (server.client().await, server.client().await);
    one.make_as(&server.path("/q"), CreateFlags::PERSISTENT).await;
    let before = one.stat(&server.path("/q")).await;
    Taking::of(server).assert_refused(&mut other, server, 0, ErrorCode::NODE_EXISTS).await;
    assert_eq!(one.stat(&server.path("/q")).await, before);
    let next = one.make_as(&server.path("/q/c-lock-"), CreateFlags::EPHEMERAL_SEQUENTIAL).await;
    assert_eq!(next, server.path(&format!("/q{NUMBER_0}")));
}

async fn nothing_is_created_if_the_parent_is_missing(server: &Server) {
    let mut client = server.client().await;
    let taking = Taking::at(&server.path("/no/q"));
    taking.assert_refused(&mut client, server, 0, ErrorCode::NO_NODE).await;
}

async fn nothing_is_created_if_the_number_is_another(server: &Server) {
    let mut client = server.client().await;
    let mut taking = Taking::of(server);
    taking.identity.path = server.path("/q/c-lock-0000000001");
    taking.assert_refused(&mut client, server, 2, ErrorCode::NO_NODE).await;
}

async fn the_parent_must_allow_to_create(server: &Server) {
    let mut client = server.client().await;
    let others = permissions::ALL & !permissions::CREATE;
    client.make_for(&server.path("/p"), vec![world(others)]).await;
    let taking = Taking::at(&server.path("/p/q"));
    taking.assert_refused(&mut client, server, 0, ErrorCode::NO_AUTH).await;
    client.make_for(&server.path("/r"), vec![world(permissions::CREATE)]).await;
    Taking::at(&server.path("/r/q")).take(&mut client).await;
}

async fn the_queue_must_allow_to_create(server: &Server) {
    let mut client = server.client().await;
    let mut taking = Taking::of(server);
    taking.queue.acl = vec![world(permissions::ALL & !permissions::CREATE)];
    taking.assert_refused(&mut client, server, 1, ErrorCode::NO_AUTH).await;
    let mut taking = Taking::of(server);
    taking.queue.acl = vec![world(permissions::CREATE)];
    taking.take(&mut client).await;
}

async fn the_contender_must_allow_to_write(server: &Server) {
    let mut client = server.client().await;
    let mut taking = Taking::of(server);
    taking.contender.acl = vec![world(permissions::ALL & !permissions::WRITE)];
    taking.assert_refused(&mut client, server, 2, ErrorCode::NO_AUTH).await;
    let mut taking = Taking::of(server);
    taking.contender.acl = vec![world(permissions::WRITE)];
    taking.take(&mut client).await;
}

async fn one_of_two_creates_the_queue(server: &Server) {
    let (mut one, mut other) = (server.client().await, server.client().await);
    let (first, second) = tokio::join!(Taking::of(server).ask(&mut one), Taking::of(server).ask(&mut other));
    let refused = |results: &[OpResult]| results[0] == OpResult::Failed(ErrorCode::NODE_EXISTS);
    assert_ne!(refused(&first), refused(&second), "{first:?} {second:?}");
    let winner = if refused(&first) { other.session_id() } else { one.session_id() };
    let stat = one.stat(&server.path(&format!("/q{NUMBER_0}"))).await.unwrap();
    assert_eq!(stat.ephemeral_owner, winner);
    assert_eq!(one.children(&server.path("/q")).await.unwrap().len(), 1);
}

async fn events_are_told_once(server: &Server) {
    let (mut one, mut other) = (server.client().await, server.client().await);
    let (queue, contender) = (server.path("/q"), server.path(&format!("/q{NUMBER_0}")));
    other.watch_exists(&queue).await.unwrap_err();
    other.watch_exists(&contender).await.unwrap_err();
    other.watch_children(&server.path("")).await;
    Taking::of(server).take(&mut one).await;
    assert_eq!(other.seen().await, [created(queue), children_changed(server.path("")), created(contender)]);
}

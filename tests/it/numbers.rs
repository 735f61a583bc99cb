//! Locks that a client takes again without a list, because the number of its contender follows that of its last one,
//! and all that makes it list instead.

use futures_util::poll;
use zklock::{Client, LockError, Mutex};
use zklock_testkit::Proxy;
use zklock_testkit::wire::Opcode;
use zookeeper_client as zk;

use crate::support::{Space, failed, lead, persistent, sequential, soon, until};

const PATH: &str = "/numbers/7";

/// A client behind a proxy that has taken a mutex so often that it knows the number of its last contender.
struct Scene {
    space: Space,
    proxy: Proxy,
    client: Client,
    mutex: Mutex,
    outsider: zk::Client,
}

impl Scene {
    async fn new() -> Self {
        let (space, proxy, client) = Space::with_proxy().await;
        // This creates the parents.
        space.client().await.mutex(PATH).unwrap().lock().await.unwrap().release().await.unwrap();
        let (mutex, outsider) = (client.mutex(PATH).unwrap(), space.outsider().await);
        let scene = Self { space, proxy, client, mutex, outsider };
        scene.goes_by_its_number().await;
        scene
    }

    fn parent(&self) -> String {
        self.space.full(PATH)
    }

    fn lists(&self) -> u64 {
        self.proxy.requests(Opcode::GET_CHILDREN)
    }

    async fn turn(&self) {
        soon(self.mutex.lock()).await.unwrap().release().await.unwrap();
    }

    /// Returns what is taken, and the number of lists until then. A holder lists as well, if it is slow.
    async fn lists_until<T>(&self, taken: impl Future<Output = Result<T, LockError>>) -> (u64, T) {
        let before = self.lists();
        let taken = soon(taken).await.unwrap();
        (self.lists() - before, taken)
    }

    async fn lists_of_a_turn(&self) -> u64 {
        let (lists, guard) = self.lists_until(self.mutex.lock()).await;
        guard.release().await.unwrap();
        lists
    }

    async fn goes_by_its_number(&self) {
        until(async || self.lists_of_a_turn().await == 0, "the client needs no list").await;
    }

    /// Checks that the next turn lists, and that the client soon goes by its number again.
    async fn lists_once(&self) {
        assert!(self.lists_of_a_turn().await >= 1);
        self.goes_by_its_number().await;
    }

    async fn next_number(&self) -> u32 {
        let guard = soon(self.mutex.lock()).await.unwrap();
        let own = self.space.children(PATH).await.remove(0);
        guard.release().await.unwrap();
        own[own.len() - 10..].parse::<u32>().unwrap() + 1
    }
}

async fn come_and_go(outsider: &zk::Client, parent: &str) -> u32 {
    let (_, sequence) = outsider.create(&format!("{parent}/x-"), b"", &sequential()).await.unwrap();
    outsider.delete(&format!("{parent}/x-{sequence}"), None).await.unwrap();
    sequence.into_i64().try_into().unwrap()
}

#[tokio::test]
async fn a_child_that_came_and_went_or_a_write_to_the_parent_makes_the_next_turn_list() {
    let scene = Scene::new().await;
    let child = format!("{}/child", scene.parent());
    come_and_go(&scene.outsider, &scene.parent()).await;
    scene.lists_once().await;
    scene.outsider.create(&child, b"", &persistent()).await.unwrap();
    scene.outsider.delete(&child, None).await.unwrap();
    scene.lists_once().await;
    let mut writer = scene.outsider.new_multi_writer();
    writer.add_create(&child, b"", &persistent()).unwrap();
    writer.add_delete(&child, None).unwrap();
    writer.commit().await.unwrap();
    scene.lists_once().await;
    scene.outsider.set_data(&scene.parent(), b"changed", None).await.unwrap();
    scene.lists_once().await;
    // A request that creates nothing changes nothing.
    scene.outsider.list_children(&scene.parent()).await.unwrap();
    scene.outsider.delete(&child, None).await.unwrap_err();
    scene.goes_by_its_number().await;
}

#[rstest::rstest]
#[tokio::test]
async fn a_number_of_a_parent_that_is_made_anew_grants_nothing(#[values(false, true)] create_travels: bool) {
    let scene = Scene::new().await;
    let other = scene.space.client().await.mutex(PATH).unwrap();
    let (parent, next) = (scene.parent(), scene.next_number().await);
    let create = scene.proxy.on_request(Opcode::CREATE2).hold();
    let mut trying = Box::pin(scene.mutex.try_lock());
    if create_travels {
        assert!(poll!(&mut trying).is_pending());
        soon(create.struck()).await;
    }
    scene.outsider.delete(&parent, None).await.unwrap();
    scene.outsider.create(&parent, b"", &persistent()).await.unwrap();
    while come_and_go(&scene.outsider, &parent).await < next - 2 {}
    let guard = other.lock().await.unwrap();
    create.release();
    scene.proxy.clear();
    assert!(soon(trying).await.unwrap().is_none(), "the contender had the number {next}");
    guard.release().await.unwrap();
    scene.goes_by_its_number().await;
}

#[tokio::test]
async fn a_delete_that_had_no_answer_makes_the_next_turn_list() {
    let scene = Scene::new().await;
    // The code of `OperationTimeout` says nothing about the request, and leaves the connection alone.
    let unknown = scene.proxy.on_reply(Opcode::DELETE).rewrite(|reply| {
        let mut reply = reply.to_vec();
        reply[12..16].copy_from_slice(&(-7_i32).to_be_bytes());
        reply
    });
    scene.turn().await;
    assert_eq!(unknown.hits(), 1);
    scene.lists_once().await;
}

#[tokio::test]
async fn readers_and_writers_of_one_client_follow_each_other_without_a_list() {
    let scene = Scene::new().await;
    let lock = scene.client.rwlock(PATH).unwrap();
    let lists_of_turns = async || {
        let (first, reader) = scene.lists_until(lock.read()).await;
        reader.release().await.unwrap();
        let (second, writer) = scene.lists_until(lock.write()).await;
        writer.release().await.unwrap();
        first + second
    };
    until(async || lists_of_turns().await == 0, "neither needs a list").await;
    // The transaction of a downgrade takes a number.
    lock.write().await.unwrap().downgrade().await.unwrap().release().await.unwrap();
    let (lists, _writer) = scene.lists_until(lock.write()).await;
    assert!(lists >= 1);
}

#[tokio::test]
async fn a_lock_that_honours_others_has_a_number_of_its_own() {
    let scene = Scene::new().await;
    let kazoo = format!("{}/0f__lock__", scene.parent());
    let (_, sequence) = scene.outsider.create(&kazoo, b"", &sequential()).await.unwrap();
    let behind = scene.client.mutex(PATH).unwrap().also_behind(["__lock__"]);
    for _ in 0..3 {
        scene.turn().await;
        assert!(behind.try_lock().await.unwrap().is_none());
    }
    scene.outsider.delete(&format!("{kazoo}{sequence}"), None).await.unwrap();
    behind.lock().await.unwrap().release().await.unwrap();
}

#[tokio::test]
async fn a_mutex_where_a_semaphore_is_lists_each_time() {
    let scene = Scene::new().await;
    for node in ["locks", "leases"] {
        scene.outsider.create(&format!("{}/{node}", scene.parent()), b"", &persistent()).await.unwrap();
    }
    scene.turn().await;
    for _ in 0..3 {
        // The list is repeated on its own, and one of the permits follows it.
        assert_eq!(scene.lists_of_a_turn().await, 3);
    }
    let permit = format!("{}/leases/x-lease-", scene.parent());
    scene.outsider.create(&permit, b"", &sequential()).await.unwrap();
    let refused = failed(soon(scene.mutex.lock()).await);
    assert!(matches!(refused, LockError::MixedRecipes { .. }), "{refused}");
}

#[tokio::test]
async fn candidates_of_an_election_list_each_time() {
    let scene = Scene::new().await;
    let terms = async |count: u64| {
        for _ in 0..count {
            let (latch, _term) = lead(&scene.client, PATH).await;
            soon(latch.close()).await.unwrap();
        }
    };
    scene.space.delete_children(PATH).await;
    let before = scene.lists();
    terms(4).await;
    assert!(scene.lists() >= before + 4, "{} lists", scene.lists() - before);
}

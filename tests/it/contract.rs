//! The contract of every lock that excludes all others: Curator's `TestInterProcessMutexBase`.

mod costs;
pub(crate) mod face;
mod fairness;
mod interruptions;
mod losses;
mod passing;
mod reentrancy;
mod templates;

use std::collections::BTreeSet;
use std::iter;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rstest_reuse::apply;
use tokio::task::JoinSet;
use zklock::{Client, Config, LeaseState, LockError, Standing};
use zklock_testkit::Proxy;

use crate::support::{PATIENCE, Server, Space, TICK, assert_waited, failed, soon, until};
use face::{Face, Held, Lock};
use templates::{every_lock, every_lock_and_readers};

const PATH: &str = "/orders/7";
/// A wait in which a contender enters the queue even on a busy machine.
const SHORT: Duration = Duration::from_millis(500);

/// A client behind a proxy, and another one whose lock excludes that of the first.
struct Scene {
    space: Space,
    proxy: Proxy,
    client: Client,
    lock: Lock,
    rival: Lock,
    face: Face,
}

impl Scene {
    async fn new(face: Face) -> Self {
        Self::of(Space::new(), face, |config| config).await
    }

    async fn of(space: Space, face: Face, set: impl FnOnce(Config) -> Config) -> Self {
        let (proxy, client) = space.proxied_with(set).await;
        let (lock, rival) = (face.of(&client, PATH), face.rival().of(&space.client().await, PATH));
        Self { space, proxy, client, lock, rival, face }
    }

    async fn end(&self, guard: Held) {
        guard.release().await.unwrap();
        self.until_nothing_is_left().await;
    }

    async fn until_nothing_is_left(&self) {
        self.face.until_contending(&self.space, PATH, 0).await;
    }
}

#[apply(every_lock_and_readers)]
async fn one_of_two_clients_holds_and_the_other_follows(face: Face) {
    let (space, clients) = Space::with_clients::<2>().await;
    let locks = [face.of(&clients[0], PATH), face.rival().of(&clients[1], PATH)];
    for (holder, waiter) in [(0, 1), (1, 0)] {
        let guard = locks[holder].try_lock().await.unwrap().expect("the lock is free");
        face.until_contending(&space, PATH, 1).await;
        for _ in 0..5 {
            assert!(locks[waiter].try_lock().await.unwrap().is_none());
            face.assert_held_once(&space, PATH).await;
        }
        let error = failed(locks[waiter].lock_timeout(SHORT).await);
        assert!(error.is_timeout() && error.is_contended(), "{error}");
        assert_waited(&error, "500ms", PATH);
        face.until_contending(&space, PATH, 1).await;
        until(async || !space.is_watching(&clients[waiter], PATH), "the waiter that gave up watches nothing")
            .await;
        let waiting = locks[waiter].spawn();
        face.until_contending(&space, PATH, 2).await;
        assert!(guard.is_held() && !waiting.is_finished());
        guard.release().await.unwrap();
        soon(waiting).await.unwrap().unwrap().release().await.unwrap();
    }
    face.until_contending(&space, PATH, 0).await;
    until(async || !space.is_watched_below(PATH), "no watch is left").await;
}

/// The watch on the list that a waiter inside has fires when its node is deleted.
#[rstest::rstest]
#[tokio::test]
async fn waiter_at_the_gate_that_gives_up_leaves_no_watch(
    #[values(Face::Exclusive, Face::Semaphore, Face::Permits)] face: Face,
) {
    let space = Space::new();
    let guard = face.of(&space.client().await, PATH).take().await;
    let inside = face.of(&space.client().await, PATH).spawn();
    face.until_contending(&space, PATH, 2).await;
    let client = space.client().await;
    let waiting = face.of(&client, PATH).spawn();
    until(async || space.is_watching(&client, PATH), "it watches the one inside").await;
    waiting.abort();
    until(async || !space.is_watching(&client, PATH), "the waiter that gave up watches nothing").await;
    assert!(guard.is_held() && !inside.is_finished());
}

#[apply(every_lock_and_readers)]
async fn waiters_are_listed_and_served_in_the_order_of_the_queue(face: Face) {
    let space = Space::new();
    let mut clients = Vec::new();
    for identity in ["holder", "first", "second"] {
        clients.push(space.config().identity(identity).connect().await.unwrap());
    }
    let lock = face.of(&clients[0], PATH);
    assert_eq!(lock.participants().await, []);
    assert_eq!(space.children("").await, [""; 0], "a list creates nothing");
    let guard = lock.take().await;
    let mut waiting = Vec::new();
    for (place, client) in clients[1..].iter().enumerate() {
        waiting.push(face.rival().of(client, PATH).spawn());
        face.until_contending(&space, PATH, place + 2).await;
    }
    let participants = lock.participants().await;
    let seen =
        participants.iter().map(|it| (it.identity.as_str(), Some(it.session_id), it.standing, it.mode));
    let mut seen: Vec<_> = seen.collect();
    // Each permit is listed, and a waiter may have one of those that it needs.
    seen.reverse();
    seen.dedup_by_key(|(identity, ..)| *identity);
    seen.reverse();
    let of =
        |index: usize, name, standing, face: Face| (name, clients[index].session_id(), standing, face.mode());
    let holds = of(0, "holder", Standing::Holds, face);
    let waits = |index, name| of(index, name, Standing::Waits, face.rival());
    assert_eq!(seen, [holds, waits(1, "first"), waits(2, "second")]);
    assert_eq!(participants[0].fencing_token, guard.fencing_token());
    assert!(participants.is_sorted_by_key(|participant| participant.fencing_token));
    let mut last = guard.fencing_token();
    guard.release().await.unwrap();
    for waiting in waiting {
        let guard = soon(waiting).await.unwrap().unwrap();
        assert!(guard.fencing_token() > last);
        last = guard.fencing_token();
        guard.release().await.unwrap();
    }
}

#[apply(every_lock_and_readers)]
async fn waiter_dropped_in_the_queue_lets_the_one_behind_pass(face: Face) {
    let space = Space::new();
    let guard = face.of(&space.client().await, PATH).take().await;
    let mut waiting = Vec::new();
    for place in 0..3 {
        waiting.push(face.rival().of(&space.client().await, PATH).spawn());
        face.until_contending(&space, PATH, place + 2).await;
    }
    let last = waiting.remove(1);
    for (left, quitter) in [(3, waiting.remove(0)), (2, waiting.remove(0))] {
        quitter.abort();
        face.until_contending(&space, PATH, left).await;
    }
    assert!(guard.is_held() && !last.is_finished());
    guard.release().await.unwrap();
    soon(last).await.unwrap().unwrap().release().await.unwrap();
    face.until_contending(&space, PATH, 0).await;
}

#[apply(every_lock_and_readers)]
async fn guard_keeps_its_lock_after_its_client_was_dropped_until_it_is_dropped_itself(face: Face) {
    let space = Space::new();
    let guard = face.of(&space.client().await, PATH).take().await;
    guard.verify().await.unwrap();
    face.until_contending(&space, PATH, 1).await;
    drop(guard);
    face.until_contending(&space, PATH, 0).await;
}

#[apply(every_lock_and_readers)]
async fn client_that_is_shut_down_leaves_its_lock_to_the_next(face: Face) {
    let (space, client) = Space::with_client().await;
    let lock = face.of(&client, PATH);
    let guard = lock.take().await;
    let waiting = face.rival().of(&space.client().await, PATH).spawn();
    face.until_contending(&space, PATH, 2).await;
    client.shutdown(Duration::ZERO).await;
    assert!(!guard.is_held());
    soon(waiting).await.unwrap().unwrap().release().await.unwrap();
    assert!(failed(lock.lock().await).is_closed() && failed(lock.try_lock().await).is_closed());
    assert!(failed(guard.release().await).is_lost());
    face.until_contending(&space, PATH, 0).await;
}

#[apply(every_lock_and_readers)]
async fn a_call_without_time_does_not_wait(face: Face) {
    let space = Space::new();
    let (lock, rival) = (face.of(&space.client().await, PATH), face.rival().of(&space.client().await, PATH));
    let mut shortest = Duration::ZERO;
    // A candidate runs whether it is waited for or not.
    if face != Face::Leader {
        let error = failed(lock.lock_timeout(shortest).await);
        assert!(matches!(error, LockError::InvalidWait { .. }), "{error}");
        let end = format!("for lock {PATH}: must not be zero; use `try_lock` instead");
        assert!(error.to_string().ends_with(&end), "{error}");
        assert_eq!(space.children("").await, [""; 0]);
        shortest = Duration::from_nanos(1);
    }
    let guard = rival.take().await;
    let error = failed(lock.lock_timeout(shortest).await);
    assert!(error.is_timeout(), "{error}");
    guard.release().await.unwrap();
    lock.take().await.release().await.unwrap();
    face.until_contending(&space, PATH, 0).await;
}

#[apply(every_lock)]
#[tokio::test]
async fn a_lock_works_below_a_namespace_and_names_its_own_path(face: Face) {
    let space = Space::new();
    let deeper = space.config().namespace(space.full("/tenants/one")).connect().await.unwrap();
    let elsewhere = space.client().await;
    let guard = face.of(&deeper, PATH).lock().await.unwrap();
    assert_eq!(guard.path(), PATH);
    face.until_contending(&space, &format!("/tenants/one{PATH}"), 1).await;
    let other = face.of(&elsewhere, PATH).lock().await.expect("the same path elsewhere is another lock");
    guard.release().await.unwrap();
    other.release().await.unwrap();
}

#[apply(every_lock)]
#[tokio::test]
async fn holder_and_waiter_both_finish_although_the_holder_restarts_the_server(face: Face) {
    let server = Server::start_granting(PATIENCE);
    let locks =
        [face.of(&server.client(PATIENCE).await, PATH), face.of(&server.client(PATIENCE).await, PATH)];
    let guard = locks[0].lock().await.unwrap();
    let waiting = locks[1].spawn();
    let nodes = if face == Face::Permits { 2 } else { 1 };
    // Each permit has a node of its own, and a waiter for permits passes another queue first.
    let waits = async || {
        let places = locks[0].participants().await;
        places.len() == 2 * nodes && places.iter().all(|place| place.path == places[0].path)
    };
    until(waits, "the other waits").await;
    let before = locks[0].participants().await;
    server.kill().unwrap();
    until(|| async { guard.state() == LeaseState::Suspended }, "the holder noticed").await;
    server.restart().unwrap();
    until(|| async { guard.state() == LeaseState::Held }, "the lock is held again").await;
    assert!(!waiting.is_finished());
    assert_eq!(locks[0].participants().await, before);
    guard.release().await.unwrap();
    let next = soon(waiting).await.unwrap().unwrap();
    assert_eq!(next.fencing_token(), before[nodes].fencing_token);
    next.release().await.unwrap();
}

#[apply(every_lock)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn parents_that_vanish_at_any_moment_are_created_again(face: Face) {
    let space = Space::new();
    let locks = [face.of(&space.client().await, PATH), face.of(&space.client().await, PATH)];
    let mut paths = [face.parents(PATH), vec![PATH.to_owned(), "/orders".to_owned()]].concat();
    paths.dedup();
    let (paths, outsider) = (paths.into_iter().map(|path| space.full(&path)), space.outsider().await);
    let (paths, removed) = (paths.collect::<Vec<_>>(), Arc::new(AtomicUsize::new(0)));
    let count = removed.clone();
    let remover = tokio::spawn(async move {
        loop {
            // This becomes the outcome of the topmost one.
            let mut is_removed = false;
            for path in &paths {
                is_removed = outsider.delete(path, None).await.is_ok();
            }
            count.fetch_add(usize::from(is_removed), Ordering::SeqCst);
            // The deletes of a closed connection fail without an await.
            tokio::task::yield_now().await;
        }
    });
    let (mut last, mut rounds) = (None, 0);
    while removed.load(Ordering::SeqCst) < 20 {
        rounds += 1;
        assert!(rounds < 10_000, "the parent is not removed");
        for lock in &locks {
            let guard = lock.take().await;
            assert!(Some(guard.fencing_token()) > last, "tokens rise although sequences start again");
            last = Some(guard.fencing_token());
            guard.release().await.unwrap();
        }
    }
    remover.abort();
    assert!(soon(remover).await.unwrap_err().is_cancelled());
}

#[apply(every_lock)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_parents_of_a_lock_that_ten_wanted_vanish(face: Face) {
    let server = Server::start_reaping();
    let client = server.client(20 * TICK).await;
    let mut contenders = JoinSet::new();
    for _ in 0..10 {
        let lock = face.of(&client, PATH);
        contenders.spawn(async move { lock.lock().await.unwrap().release().await.unwrap() });
    }
    soon(contenders.join_all()).await;
    let outsider = server.outsider().await;
    until(async || outsider.check_stat("/orders").await.unwrap().is_none(), "the parents are gone").await;
}

fn recipe(face: Face) -> &'static str {
    match face {
        Face::Mutex | Face::Multi => "a mutex",
        Face::Reader | Face::Writer => "a read-write lock",
        Face::Exclusive | Face::Semaphore | Face::Permits => "a semaphore",
        Face::Leader => "an election",
    }
}

async fn contenders(space: &Space) -> usize {
    let parents = ["leases", "locks"];
    let mut nodes = space.children(PATH).await;
    for parent in parents {
        nodes.extend(space.children(&format!("{PATH}/{parent}")).await);
    }
    nodes.iter().filter(|node| !parents.contains(&node.as_str())).count()
}

#[apply(every_lock_and_readers)]
async fn lock_of_another_recipe_is_refused_while_a_path_is_in_use_and_disturbs_nobody(
    face: Face,
    #[values(
        Face::Mutex,
        Face::Exclusive,
        Face::Reader,
        Face::Writer,
        Face::Semaphore,
        Face::Permits,
        Face::Leader
    )]
    other: Face,
) {
    let (space, [client, stranger]) = Space::with_clients().await;
    let held = face.of(&client, PATH).take().await;
    let (inside, outside) = (other.of(&client, PATH), other.of(&stranger, PATH));
    let tried = soon(outside.try_lock()).await;
    let is_mixed = matches!(tried, Err(LockError::MixedRecipes { .. }));
    assert_eq!(is_mixed, recipe(other) != recipe(face), "{tried:?}");
    drop(tried);
    if is_mixed {
        for error in [failed(soon(outside.lock()).await), failed(soon(held.scope(inside.lock())).await)] {
            let LockError::MixedRecipes { path, own, other: theirs, .. } = &error else { panic!("{error}") };
            assert_eq!((path.as_str(), own.as_str(), theirs.as_str()), (PATH, recipe(other), recipe(face)));
        }
    }
    let nodes = if face == Face::Permits { 2 } else { 1 };
    until(async || contenders(&space).await == nodes, "the other one is gone").await;
    assert!(held.is_held());
    assert!(face.rival().of(&stranger, PATH).try_lock().await.unwrap().is_none());
    held.release().await.unwrap();
    // A path that is free again may have another recipe.
    outside.take().await.release().await.unwrap();
    until(async || contenders(&space).await == 0, "nothing is left").await;
}

/// Returns the ends of the names below each parent, in front of their numbers.
fn bases(face: Face) -> [&'static str; 2] {
    match face {
        Face::Mutex | Face::Multi => ["-lock-"; 2],
        Face::Reader => ["-__READ__"; 2],
        Face::Writer => ["-__WRIT__"; 2],
        Face::Leader => ["-latch-"; 2],
        Face::Exclusive | Face::Semaphore | Face::Permits => ["-lease-", "-lock-"],
    }
}

/// Checks a name such as `_c_6ba7b810-9dad-41d1-80b4-00c04fd430c8-lease-0000000003`, and returns its UUID.
#[track_caller]
fn checked(name: &str, base: &str) -> String {
    let (uuid, rest) = name.strip_prefix("_c_").expect(name).split_at(36);
    let groups: Vec<_> = uuid.split('-').map(str::len).collect();
    assert_eq!((groups, &uuid[14..15]), (vec![8, 4, 4, 4, 12], "4"), "{name}");
    assert!(uuid.chars().all(|c| matches!(c, '0'..='9' | 'a'..='f' | '-')), "{name}");
    let sequence = rest.strip_prefix(base).expect(name);
    assert!(sequence.len() == 10 && sequence.chars().all(|c| c.is_ascii_digit()), "{name}");
    uuid.to_owned()
}

#[apply(every_lock_and_readers)]
async fn names_owners_and_data_of_contenders_are_those_of_curator(face: Face) {
    let space = Space::new();
    let connect = || space.config().identity("10.0.0.7").connect();
    let clients = [connect().await.unwrap(), connect().await.unwrap()];
    let guard = face.of(&clients[0], PATH).take().await;
    face.until_contending(&space, PATH, 1).await;
    let next = face.of(&clients[1], PATH).spawn();
    face.until_contending(&space, PATH, 2).await;
    let (outsider, sessions) = (space.outsider().await, clients.each_ref().map(|client| client.session_id()));
    let (mut count, mut uuids) = (0, BTreeSet::new());
    for (parent, base) in iter::zip(face.parents(PATH), bases(face)) {
        for name in space.children(&parent).await {
            count += 1;
            uuids.insert(checked(&name, base));
            let (data, stat) = outsider.get_data(&space.full(&format!("{parent}/{name}"))).await.unwrap();
            assert_eq!(data, b"10.0.0.7", "{name}");
            assert!(sessions.contains(&Some(stat.ephemeral_owner)), "{name}");
        }
    }
    assert_eq!(uuids.len(), count, "each node has one of its own");
    assert!(count >= 2, "{uuids:?}");
    let children = space.children(PATH).await;
    let ends: BTreeSet<_> = children.iter().map(|name| &name[name.len().saturating_sub(10)..]).collect();
    let has_queues = face.parent_of_nodes(PATH) != PATH;
    let expected = if has_queues { ["leases", "locks"] } else { ["0000000000", "0000000001"] };
    assert_eq!(ends, BTreeSet::from(expected));
    guard.release().await.unwrap();
    soon(next).await.unwrap().unwrap().release().await.unwrap();
}

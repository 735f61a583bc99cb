//! An acquisition that times out says who was in the way, if the client knew it without a request of its own.

use std::time::{Duration, SystemTime};

use zklock::{Client, Config, Guard, Holder, LockError, distributed_lock};
use zklock_testkit::wire::Opcode;
use zookeeper_client as zk;

use crate::support::{Space, failed, persistent, soon, spawn_lock, spawn_lock_of};

const PATH: &str = "/orders/7";
/// The waits of an acquisition that is repeated until the client has seen its predecessor.
const WAITS: [Duration; 4] = [ms(500), ms(2_000), ms(8_000), ms(20_000)];

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Returns the end of the first acquisition that others are in the way of, and whose client knows one of them.
async fn late<K>(attempt: impl AsyncFn(Duration) -> Result<Guard<K>, LockError>) -> LockError {
    let is_told = |error: &LockError| matches!(error, LockError::Timeout { holder: Some(_), .. });
    late_if(attempt, is_told).await
}

/// Returns the end of the first acquisition whose error is one of these, however busy the machine is.
async fn late_if<K>(
    attempt: impl AsyncFn(Duration) -> Result<Guard<K>, LockError>,
    is_wanted: impl Fn(&LockError) -> bool,
) -> LockError {
    let mut error = failed(attempt(WAITS[0]).await);
    for wait in &WAITS[1..] {
        if is_wanted(&error) {
            return error;
        }
        error = failed(attempt(*wait).await);
    }
    error
}

async fn holder_named(space: &Space, identity: &str) -> Client {
    space.config().identity(identity).connect().await.unwrap()
}

/// Returns the contender in the way, as the end of an acquisition behind others tells it.
#[track_caller]
fn in_the_way(error: LockError) -> (Option<Holder>, String) {
    assert!(error.is_contended(), "{error}");
    let text = error.to_string();
    let LockError::Timeout { path, holder, .. } = error else { panic!("{error}") };
    assert_eq!(path, PATH);
    (holder, text)
}

#[track_caller]
fn check_other(late: LockError, client: &Client, in_front: u32) {
    let (holder, text) = in_the_way(late);
    let Some(Holder::Other { identity, session_id, entered, ahead, .. }) = &holder else {
        panic!("{holder:?}")
    };
    let expected = (client.identity(), client.session_id(), in_front);
    assert_eq!((identity.as_str(), Some(*session_id), *ahead), expected);
    let age = SystemTime::now().duration_since(*entered).unwrap_or_default();
    assert!(age < Duration::from_secs(600), "{age:?}");
    let named = format!("\"{identity}\" (session {session_id:#x}), in the queue since 20");
    let expected = match in_front {
        1 => format!("for lock {PATH}: held by {named}"),
        _ => format!("for lock {PATH}: the nearest of {in_front} in front is {named}"),
    };
    assert!(text.contains(&expected), "{text}");
}

#[track_caller]
fn check_this_client(late: LockError) {
    let (holder, text) = in_the_way(late);
    assert!(matches!(&holder, Some(one) if one.is_this_client() && one.ahead() == 1), "{holder:?}");
    assert!(text.contains(": held by another call of this process, or this one outside"), "{text}");
}

#[tokio::test]
async fn the_client_that_holds_and_then_the_nearest_of_several_in_front_is_named() {
    let space = Space::new();
    let (holder, nearest) = (holder_named(&space, "billing-7").await, holder_named(&space, "second").await);
    let _guard = holder.mutex(PATH).unwrap().lock().await.unwrap();
    let third = space.client().await.mutex(PATH).unwrap();
    check_other(late(async |wait| third.lock_timeout(wait).await).await, &holder, 1);
    let _second = spawn_lock(&nearest, PATH);
    space.until_queued(PATH, 2).await;
    check_other(late(async |wait| third.lock_timeout(wait).await).await, &nearest, 2);
}

#[tokio::test]
async fn a_call_of_the_same_client_that_holds_is_told() {
    let client = Space::new().client().await;
    let mutex = client.mutex(PATH).unwrap();
    let guard = mutex.lock().await.unwrap();
    check_this_client(failed(mutex.lock_timeout(WAITS[0]).await));
    guard.release().await.unwrap();
    let lock = client.rwlock(PATH).unwrap();
    let _reader = lock.read().await.unwrap();
    check_this_client(late(async |wait| lock.write_timeout(wait).await).await);
}

#[tokio::test]
async fn holders_that_only_a_request_would_tell_are_not_named() {
    let (space, [holder, client]) = Space::with_clients().await;
    let permit = holder.semaphore(PATH, 1).unwrap().acquire().await.unwrap();
    let semaphore = client.semaphore(PATH, 1).unwrap();
    let attempt = async |wait| semaphore.acquire_timeout(wait).await;
    let (unknown, text) = in_the_way(late_if(attempt, LockError::is_contended).await);
    assert_eq!(unknown, None);
    assert!(text.ends_with("waiting behind others for lock /orders/7"), "{text}");
    permit.release().await.unwrap();
    space.until_empty(&format!("{PATH}/leases")).await;
}

#[tokio::test]
async fn a_predecessor_that_the_server_has_not_described_yet_is_not_named() {
    let (space, holder) = Space::with_client().await;
    let guard = holder.mutex(PATH).unwrap().lock().await.unwrap();
    // The client does not take the server for silent before the test is over.
    let patient = |config: Config| config.session_timeout(ms(30_000)).server_timeout(ms(12_000));
    let (proxy, waiter) = space.proxied_with(patient).await;
    let held = proxy.on_reply(Opcode::GET_DATA).hold();
    let mutex = waiter.mutex(PATH).unwrap();
    let first = spawn_lock_of(&mutex);
    soon(held.struck()).await;
    // The call waits behind the first one, whose node is behind the holder's.
    let (unknown, _) = in_the_way(failed(mutex.lock_timeout(ms(10)).await));
    assert_eq!(unknown, None);
    held.release();
    guard.release().await.unwrap();
    soon(first).await.unwrap().release().await.unwrap();
}

/// Declares a function that does not wait for a lock that is taken.
macro_rules! at_once {
    ($name:ident, $($argument:tt)*) => {
        #[distributed_lock(path = PATH, no_wait, $($argument)*)]
        async fn $name() -> Result<(), LockError> {
            Ok(())
        }
    };
}

at_once!(exclusively,);
at_once!(reading, mode = read);
at_once!(writing, mode = write);
at_once!(with_a_permit, permits = 1, of = 1);

#[tokio::test]
async fn a_call_that_does_not_wait_is_told_that_a_call_of_this_process_holds_the_lock() {
    #[distributed_lock(path = ["/before", PATH], no_wait)]
    async fn both() -> Result<(), LockError> {
        Ok(())
    }
    let client = Space::new().client().await;
    let _guard = client.mutex(PATH).unwrap().lock().await.unwrap();
    let at_once = async { [failed(exclusively().await), failed(both().await)] };
    soon(zklock::scope(client, at_once)).await.into_iter().for_each(check_this_client);
    let client = Space::new().client().await;
    let _guard = client.rwlock(PATH).unwrap().write().await.unwrap();
    let at_once = async { [failed(reading().await), failed(writing().await)] };
    soon(zklock::scope(client, at_once)).await.into_iter().for_each(check_this_client);
    let (space, client) = Space::with_client().await;
    let _permit = client.semaphore(PATH, 1).unwrap().acquire().await.unwrap();
    check_this_client(failed(soon(zklock::scope(client, with_a_permit())).await));
    // A client that does not know the holder names none.
    let other = space.client().await;
    let error = failed(soon(zklock::scope(other, with_a_permit())).await);
    assert_eq!(in_the_way(error).0, None);
}

#[tokio::test]
async fn a_persistent_node_in_the_way_is_named_as_one() {
    let space = Space::new();
    let (client, outsider) = (space.client().await, space.outsider().await);
    outsider.mkdir(&space.full(PATH), &persistent()).await.unwrap();
    let options = zk::CreateMode::PersistentSequential.with_acls(zk::Acls::anyone_all());
    let name = "_c_6ba7b810-9dad-41d1-80b4-00c04fd40000-lock-";
    outsider.create(&space.full(&format!("{PATH}/{name}")), b"host", &options).await.unwrap();
    let node = format!("{PATH}/{name}0000000000");
    let mutex = client.mutex(PATH).unwrap();
    let (holder, text) = in_the_way(late(async |wait| mutex.lock_timeout(wait).await).await);
    assert!(matches!(holder, Some(Holder::Persistent { path, ahead: 1, .. }) if path == node));
    let named = format!("for lock {PATH}: held by the persistent node {node}, created at 20");
    assert!(text.contains(&named), "{text}");
    assert!(text.ends_with(", which no session owns and which stays until somebody deletes it"), "{text}");
    let participants = mutex.participants().await.unwrap();
    let are_persistent: Vec<_> = participants.iter().map(|one| one.is_persistent()).collect();
    assert_eq!(are_persistent, [true]);
    outsider.delete(&space.full(&node), None).await.unwrap();
    soon(mutex.lock()).await.unwrap().release().await.unwrap();
}

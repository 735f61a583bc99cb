//! Lists of children that no client has made.

use std::time::Duration;

use zklock_testkit::wire::{Opcode, Writer};
use zklock_testkit::{Proxy, RuleBuilder};

use super::{HEADER, OTHER, PATH, STALL, until_works};
use crate::support::{Space, soon, until};

/// Far more contenders than any queue has.
const MANY: i32 = if cfg!(soak) { 100_000 } else { 2_000 };

/// Returns the answer to a list, with these names instead of its own.
fn listing(answer: &[u8], names: impl Iterator<Item = Vec<u8>>) -> Vec<u8> {
    let names: Vec<_> = names.collect();
    let mut writer = Writer::default();
    writer.raw(&answer[..HEADER]);
    writer.vector(&names, |writer, name| writer.buffer(Some(name)));
    writer.finish().to_vec()
}

/// Names of contenders with all numbers, odd prefixes, and of all kinds of locks.
fn strangers() -> impl Iterator<Item = Vec<u8>> {
    const KINDS: [&str; 6] = ["-lock-", "__WRIT__", "__READ__", "-lease-", "-latch-", "__lock__"];
    const PREFIXES: [&str; 6] =
        ["", "_c_", "_c_00000000-0000-0000-0000-000000000000", "\u{1F512}", "_c_zz", "a/b/../c"];
    (0..MANY).map(|n| {
        let pick = |of: &[&'static str; 6], n: i32| of[usize::try_from(n).unwrap() % 6];
        format!("{}{}{:010}", pick(&PREFIXES, n), pick(&KINDS, n / 6), n.wrapping_mul(42_949)).into_bytes()
    })
}

/// Names of contenders that no client has.
fn contenders() -> impl Iterator<Item = Vec<u8>> {
    (0..MANY).map(|n| format!("x-lock-{n:010}").into_bytes())
}

/// Names that are no text, and names that are no name.
fn nonsense() -> impl Iterator<Item = Vec<u8>> {
    [&b"\xff\xfe"[..], b"x-lock-\xf0\x28\x8c\x28", b"", b"/", b"\0", b"x-lock-99999999999999999999"]
        .into_iter()
        .map(<[u8]>::to_vec)
}

fn lists(proxy: &Proxy) -> RuleBuilder<'_> {
    proxy.on_success(Opcode::GET_CHILDREN).always()
}

/// Waits until a holder has seen its own node in a list. If the first list lacked it, the lock would be lost.
async fn until_looked_around(proxy: &Proxy) {
    until(async || proxy.replies(Opcode::GET_CHILDREN) > 0, "the holder has looked around").await;
}

/// Checks that each kind of call ends while the lists are false, and that all work again with true ones.
async fn misled(falsify: impl Fn(&Proxy)) {
    let (space, proxy, client) = Space::with_proxy().await;
    let kept = client.mutex(OTHER).unwrap().lock().await.unwrap();
    until_looked_around(&proxy).await;
    let mutex = client.mutex(PATH).unwrap();
    let lock = client.rwlock("/ledger").unwrap();
    let semaphore = client.semaphore("/pool", 2).unwrap();
    falsify(&proxy);
    let wait = Duration::from_secs(2);
    let calls = async {
        tokio::join!(
            async { drop(mutex.lock_timeout(wait).await) },
            async { drop(lock.read_timeout(wait).await) },
            async { drop(lock.write_timeout(wait).await) },
            async { drop(semaphore.acquire_timeout(wait).await) },
            async { drop(mutex.try_lock().await) },
        )
    };
    tokio::time::timeout(wait * 5 + STALL, calls).await.expect("each call keeps its deadline");
    drop(tokio::time::timeout(STALL * 2, mutex.participants()).await.expect("a list of participants ends"));
    let survey = client.survey("/").unwrap();
    drop(tokio::time::timeout(STALL * 2, survey.take()).await.expect("a survey ends"));
    soon(kept.verify()).await.unwrap();
    proxy.clear();
    // A client that is told that its node is gone enters again, and leaves the node to the end of its session.
    space.end_session_of(&client);
    drop(kept);
    until_works(&mutex, "the client takes and releases locks again").await;
    space.until_empty(PATH).await;
}

#[tokio::test]
async fn calls_end_in_front_of_many_strange_contenders() {
    misled(|proxy| drop(lists(proxy).rewrite(|answer| listing(answer, strangers())))).await;
}

/// Each participant is asked for. The requests that prove leases do not wait behind all of them.
#[tokio::test]
async fn a_hold_outlasts_a_list_of_many_participants() {
    let (proxy, client) = Space::new().proxied().await;
    let kept = client.mutex(OTHER).unwrap().lock().await.unwrap();
    until_looked_around(&proxy).await;
    let mutex = client.mutex(PATH).unwrap();
    mutex.lock().await.unwrap().release().await.unwrap();
    lists(&proxy).rewrite(|answer| listing(answer, contenders()));
    let listed = tokio::spawn(async move { mutex.participants().await });
    let listed = tokio::time::timeout(STALL * 3, listed).await.expect("a list of participants ends");
    // None of them exists, so they are left out, unless the time is over.
    assert!(listed.unwrap().map_or_else(|error| error.is_timeout(), |listed| listed.is_empty()));
    assert!(kept.is_held());
    proxy.clear();
    soon(kept.release()).await.unwrap();
}

#[tokio::test]
async fn calls_end_if_names_are_no_text() {
    misled(|proxy| drop(lists(proxy).rewrite(|answer| listing(answer, nonsense())))).await;
}

//! Holders in their own processes that are killed.
//!
//! The holder in Rust is this test binary, run for the last test below with its parameters in the environment.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};

use zklock::{Client, MutexGuard, SemaphoreGuard, WriteGuard};

use crate::peer::Actor;
use crate::support::{Space, mortal_config, soon, until};

/// The test that runs as a holder in another process, where its case does not matter.
const HOLDER: &str = "process::what_a_killed_rust_process_held_goes_to_java";
const CONNECT: &str = "ZKLOCK_INTEROP_HOLDER_CONNECT";
const NAMESPACE: &str = "ZKLOCK_INTEROP_HOLDER_NAMESPACE";
const HOLDING: &str = "the holder holds";
const MUTEX: &str = "/mutex";
const EXCLUSIVE: &str = "/exclusive";
const RWLOCK: &str = "/rwlock";
const SEMAPHORE: &str = "/semaphore";
/// The locks that are held in Java: recipe, path and mode.
const LOCKS: [(&str, &str, &str); 4] = [
    ("mutex", MUTEX, "exclusive"),
    ("exclusive", EXCLUSIVE, "exclusive"),
    ("rwlock", RWLOCK, "write"),
    ("semaphore", SEMAPHORE, "3"),
];

/// Holds the locks until the input ends.
async fn hold_until_the_input_ends(connect: String, namespace: String) {
    let client = mortal_config(&connect, &namespace).connect().await.unwrap();
    let _held = hold_all(&client).await;
    let mut output = std::io::stdout();
    writeln!(output, "{HOLDING}").unwrap();
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}

/// Takes all of the locks concurrently.
async fn hold_all(client: &Client) -> (MutexGuard, MutexGuard, WriteGuard, SemaphoreGuard) {
    let mutex = client.mutex(MUTEX).unwrap();
    let exclusive = client.exclusive(EXCLUSIVE).unwrap();
    let rwlock = client.rwlock(RWLOCK).unwrap();
    let semaphore = client.semaphore(SEMAPHORE, 3).unwrap();
    tokio::try_join!(mutex.lock(), exclusive.lock(), rwlock.write(), semaphore.acquire_many(3)).unwrap()
}

/// Waits until each of the locks has a waiter: behind its holder, or with one permit node more than there are
/// permits.
async fn until_all_are_waited_for(space: &Space, session_id: Option<i64>) {
    space.until_waits(MUTEX, session_id, 0).await;
    space.until_waits(RWLOCK, session_id, 0).await;
    for (permits, count) in [("/exclusive/leases", 1), ("/semaphore/leases", 3)] {
        until(|| async { space.children(permits).await.len() > count }, "another permit is wanted").await;
    }
}

/// A holder of all locks in another Rust process. It is killed on drop.
struct Holder(Child);

impl Holder {
    /// Starts the process and waits until it holds the locks.
    fn start(space: &Space) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", HOLDER, "--nocapture"])
            .env(CONNECT, space.connect_string())
            .env(NAMESPACE, &space.namespace)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        let holder = Self(child);
        assert!(lines.any(|line| line.contains(HOLDING)), "the holder ended before it held the locks");
        holder
    }

    fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_killed_java_process_held_goes_to_rust() {
    let space = Space::new();
    let mut peer = space.mortal_peer();
    let mut holders = Vec::new();
    for (recipe, path, mode) in LOCKS {
        let mut holder = peer.actor(recipe, &space.full(path)).await;
        holder.ask(&format!("acquire {mode}")).await;
        holders.push(holder);
    }
    let client = space.client("the successor").await;
    let session_id = client.session_id();
    let waiting = tokio::spawn(async move { hold_all(&client).await });
    until_all_are_waited_for(&space, session_id).await;
    assert!(!waiting.is_finished());
    peer.kill();
    drop(soon(waiting).await.unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_killed_rust_process_held_goes_to_java() {
    if let (Ok(connect), Ok(namespace)) = (std::env::var(CONNECT), std::env::var(NAMESPACE)) {
        return hold_until_the_input_ends(connect, namespace).await;
    }
    let space = Space::new();
    let mut holder = Holder::start(&space);
    let mut waiting = Vec::new();
    for (recipe, path, mode) in LOCKS {
        let mut actor = space.actor(recipe, path).await;
        actor.order(&format!("acquire {mode}"));
        waiting.push(actor);
    }
    until_all_are_waited_for(&space, space.peer().session_id()).await;
    waiting.iter_mut().for_each(Actor::assert_busy);
    holder.kill();
    for (actor, (_, _, mode)) in waiting.iter_mut().zip(LOCKS) {
        actor.answer().await;
        actor.ask(&format!("release {mode}")).await;
    }
}

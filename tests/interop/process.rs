//! Holders in processes of their own that are killed.
//!
//! The holder in Rust is this test binary, run again for the one test `holder_process` with its orders in the
//! environment.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};

use rstest_reuse::apply;

use crate::support::{Kind, Space, mortal_config, on_both_servers, soon};

/// The test that is a holder in another process.
const HOLDER: &str = "process::holder_process";
const CONNECT: &str = "ZKLOCK_INTEROP_HOLDER_CONNECT";
const NAMESPACE: &str = "ZKLOCK_INTEROP_HOLDER_NAMESPACE";
const HOLDING: &str = "the holder holds";
const MUTEX: &str = "/mutex";

/// Not a test of its own: the process that the tests below kill. It ends with its input.
#[tokio::test]
async fn holder_process() {
    let (Ok(connect), Ok(namespace)) = (std::env::var(CONNECT), std::env::var(NAMESPACE)) else { return };
    let client = mortal_config(&connect, &namespace).connect().await.unwrap();
    let _mutex = client.mutex(MUTEX).unwrap().lock().await.unwrap();
    writeln!(std::io::stdout(), "{HOLDING}").unwrap();
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}

/// A holder of all locks in another process in Rust; it is killed when this is dropped.
struct Holder(Child);

impl Holder {
    /// Starts the process and waits until it holds.
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
        assert!(lines.any(|line| line.contains(HOLDING)), "the holder ended without a word");
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

#[apply(on_both_servers)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_killed_java_process_held_goes_to_rust(kind: Kind) {
    let space = Space::new(kind);
    let mut peer = space.mortal_peer();
    let mut mutex = peer.actor("mutex", &space.full(MUTEX)).await;
    mutex.ask("acquire exclusive").await;
    let client = space.client("the successor").await;
    let waiting = client.mutex(MUTEX).unwrap();
    let waiting = tokio::spawn(async move { waiting.lock().await.unwrap() });
    space.until_waits(MUTEX, client.session_id(), 0).await;
    peer.kill();
    soon(waiting).await.unwrap().release().await.unwrap();
}

#[apply(on_both_servers)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_killed_rust_process_held_goes_to_java(kind: Kind) {
    let space = Space::new(kind);
    let mut holder = Holder::start(&space);
    let mut mutex = space.actor("mutex", MUTEX).await;
    mutex.order("acquire exclusive");
    space.until_waits(MUTEX, space.peer().session_id(), 0).await;
    holder.kill();
    mutex.answer().await;
    mutex.ask("release exclusive").await;
}

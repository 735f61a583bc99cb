//! The bounds of what the library reads, in a process of its own.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, setrlimit};
use zklock_testkit::wire::{ErrorCode, Record, ReplyHeader, Writer};
use zookeeper_client as zk;

use super::peer::{Connection, Peer, SESSION};
use super::{CHALLENGES, LENGTHS, LISTS, YIELD};
use crate::support::events::{CONNECTED, event};
use crate::support::process::{Orders, Process, kibibytes, report};
use crate::support::soon;

/// The test that runs the library in another process.
const CLIENT: &str = "upstream::reading::client_process";

/// Sends one request to the peer of the parent process, if there is one, and prints the most memory that it took.
#[tokio::test]
async fn client_process() {
    let Some((orders, [])) = Orders::read([]) else { return };
    // The least that a machine refuses differs from one to another.
    let most = Some(16 << 30);
    setrlimit(Resource::As, Rlimit { current: most, maximum: most }).unwrap();
    let connector = zk::Client::connector().with_session_timeout(Duration::from_secs(60));
    let client = connector.connect(&orders.connect).await.unwrap();
    let answer = client.list_children("/").await;
    report(&format!("answer: {answer:?}, memory: {} KiB", kibibytes("VmHWM")));
}

/// Lets another process list a node, and returns its connection and the number of the request.
async fn asked() -> (Process, Connection, i32) {
    let peer = Peer::granting(Duration::from_secs(60)).await;
    let process = Process::start_at(CLIENT, (&peer.address().to_string(), "/"), []);
    let mut connection = peer.accept().await;
    connection.attach(SESSION).await;
    connection.answer_ping().await;
    let xid = connection.request().await;
    (process, connection, xid)
}

/// Returns all that the process prints until its end.
async fn printed(process: &mut Process) -> String {
    let mut output = process.output();
    let read = tokio::task::spawn_blocking(move || {
        let mut text = String::new();
        output.read_to_string(&mut text).map(|_| text)
    });
    soon(read).await.unwrap().unwrap()
}

/// The number of the signal `SIGABRT`.
const ABORTED: i32 = 6;

#[tokio::test]
async fn a_list_that_claims_many_elements_in_a_small_frame_aborts_the_process() {
    let (mut process, mut connection, xid) = asked().await;
    let mut answer = Writer::default();
    ReplyHeader { xid, zxid: 1, error: ErrorCode::OK }.write(&mut answer);
    answer.int(i32::MAX);
    connection.send(answer.finish()).await;
    let printed = printed(&mut process).await;
    assert!(!printed.contains("answer:"), "{LISTS}: {printed}");
    assert_eq!(process.0.wait().unwrap().signal(), Some(ABORTED), "{LISTS}: {printed}");
}

#[tokio::test]
async fn a_frame_is_read_into_memory_whatever_its_length() {
    const LENGTH: usize = 96 << 20;
    let (mut process, mut connection, xid) = asked().await;
    let mut answer = Writer::default();
    ReplyHeader { xid, zxid: 1, error: ErrorCode::OK }.write(&mut answer);
    // A list without elements, and bytes that belong to nothing.
    answer.int(0);
    answer.raw(&vec![0; LENGTH]);
    connection.send(answer.finish()).await;
    let printed = printed(&mut process).await;
    let memory = printed.split("memory: ").nth(1).and_then(|rest| rest.split(' ').next());
    let memory: usize = memory.unwrap_or_else(|| panic!("it has no answer: {printed}")).parse().unwrap();
    assert!(memory > LENGTH / 1024, "{LENGTHS}: {printed}");
}

/// The test that tells in another process when the library keeps the thread of its runtime.
const KEPT: &str = "upstream::reading::kept_process";
const CREDENTIALS: &str = "ZKLOCK_TEST_CREDENTIALS";

/// Connects to the peer of the parent process, if there is one, and prints that the runtime does nothing else any more.
#[tokio::test]
async fn kept_process() {
    let Some((orders, [credentials])) = Orders::read([CREDENTIALS]) else { return };
    let ticks = Arc::new(AtomicU64::new(0));
    let seen = ticks.clone();
    thread::spawn(move || {
        let (mut last, mut since) = (0, Instant::now());
        // Longer than a thread of a busy machine stands still.
        while since.elapsed() < Duration::from_secs(10) {
            thread::sleep(Duration::from_millis(10));
            let now = seen.load(Ordering::SeqCst);
            if now != last {
                (last, since) = (now, Instant::now());
            }
        }
        report("kept");
    });
    tokio::spawn(async move {
        loop {
            ticks.fetch_add(1, Ordering::SeqCst);
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });
    let mut connector = zk::Client::connector().with_session_timeout(Duration::from_secs(60));
    if let Some((user, password)) = credentials.split_once(':') {
        connector = connector.with_sasl(zk::SaslOptions::digest_md5(user.to_owned(), password.to_owned()));
    }
    let _client = connector.connect(&orders.connect).await;
    std::future::pending().await
}

/// Waits until the process prints that its runtime is kept.
async fn is_kept(process: &mut Process) -> bool {
    let output = BufReader::new(process.output());
    let read = tokio::task::spawn_blocking(move || {
        output.lines().map_while(Result::ok).any(|line| line.ends_with("kept"))
    });
    tokio::time::timeout(Duration::from_secs(60), read).await.is_ok_and(|found| found.unwrap())
}

#[tokio::test]
async fn a_flood_of_frames_keeps_the_thread_of_the_runtime() {
    let peer = Peer::granting(Duration::from_secs(60)).await;
    let variables = [(CREDENTIALS, String::new())];
    let mut process = Process::start_at(KEPT, (&peer.address().to_string(), "/"), variables);
    let mut connection = peer.accept().await;
    connection.attach(SESSION).await;
    connection.answer_ping().await;
    // The data of a node that is not watched has changed.
    let events = event(3, CONNECTED, "/unknown").repeat(1_000);
    let mut stream = connection.into_stream();
    thread::spawn(move || while stream.write_all(&events).is_ok() {});
    assert!(is_kept(&mut process).await, "{YIELD}");
}

#[tokio::test]
async fn a_challenge_of_a_login_with_two_backslashes_is_parsed_without_end() {
    let peer = Peer::granting(Duration::from_secs(60)).await;
    let variables = [(CREDENTIALS, "user:password".to_owned())];
    let mut process = Process::start_at(KEPT, (&peer.address().to_string(), "/"), variables);
    let mut connection = peer.accept().await;
    connection.attach(SESSION).await;
    connection.challenge(br#"nonce="\a\a""#).await;
    assert!(is_kept(&mut process).await, "{CHALLENGES}");
}

//! The memory of a client under attack, in a process of its own.

use std::io::{BufRead, BufReader, stdin};
use std::time::Duration;

use zklock::Config;

use super::relay::{Answers, Attack, Relay};
#[cfg(soak)]
use super::{CONNECTED, event};
use super::{PATH, STALL};
use crate::support::process::{Orders, Process, of_process, report};
use crate::support::{Server, TICK};

/// The test that runs as the client in another process.
const VICTIM: &str = "hostile::memory::victim_process";
/// The timeout of its session. The connection of an attack must last although a thread stands still for some seconds.
const SESSION: Duration = Duration::from_secs(60);
/// More than the memory of a client varies, and less than the requests take if they get no answers, in KiB.
#[cfg(soak)]
const GROWTH: u64 = 24 << 10;

/// Takes a lock for the parent process, if there is one, and prints how much its memory has grown when it is told to.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn victim_process() {
    let Some((orders, [])) = Orders::read([]) else { return };
    let config = Config::new(&orders.connect).namespace(&orders.namespace).tick_time(TICK);
    let client = config.session_timeout(SESSION).server_timeout(SESSION * 2 / 5).connect().await.unwrap();
    let _guard = client.mutex(PATH).unwrap().lock().await.unwrap();
    let before = memory();
    report("victim: held");
    told().await;
    report(&format!("victim: {}", memory().saturating_sub(before)));
    // The attack goes on until the parent ends this process.
    told().await;
}

async fn told() {
    let told = tokio::task::spawn_blocking(|| stdin().lock().lines().next());
    told.await.unwrap().expect("the parent tells").unwrap();
}

/// Returns the memory that this process has reserved for data, touched or not, in KiB.
fn memory() -> u64 {
    of_process("VmData")
}

/// Attacks a client with these bytes until it has taken so many of them, and returns the growth of its memory in KiB.
async fn growth(first: &[u8], again: Vec<u8>, pause: Duration, taken: u64) -> u64 {
    let server = Server::start_granting(SESSION);
    let relay = Relay::start(server.address()).await;
    let mut process = Process::start_at(VICTIM, (&relay.connect_string(), "/memory"), []);
    let lines = BufReader::new(process.output()).lines().map_while(Result::ok);
    let mut lines = lines.filter_map(|line| Some(line.split_once("victim: ")?.1.to_owned()));
    assert_eq!(lines.next().as_deref(), Some("held"));
    let several = 3 * again.len() as u64;
    let attack = relay.attack(first, again, pause, Answers::Arrive).await;
    until_written(&attack, taken).await;
    process.tell("report");
    let grown = lines.next().expect("the client tells its memory").parse().unwrap();
    // The client has kept the connection, and so the memory of a frame that has begun.
    until_written(&attack, attack.written() + several).await;
    grown
}

async fn until_written(attack: &Attack, bytes: u64) {
    let is_written = async {
        while attack.written() < bytes {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(STALL * 5, is_written).await.expect("the client takes the bytes");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_frame_takes_no_memory_for_the_length_that_it_claims() {
    let (claim, again, pause) = (i32::MAX, vec![0; 1 << 16], Duration::from_millis(1));
    // More than the buffers of both sockets have, so that the client has read a part of the frame.
    let grown = growth(&claim.to_be_bytes(), again, pause, 32 << 20).await;
    // Half of the claim.
    assert!(grown < 1 << 20, "{grown} KiB");
}

#[cfg(soak)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn endless_events_take_no_memory() {
    let events = [1, 2, 3, 4].map(|kind| event(kind, CONNECTED, "/unknown/node")).concat().repeat(10);
    // Slowly enough that a busy server answers the requests that each of them causes.
    let grown = growth(&[], events, Duration::from_millis(4), 8 << 20).await;
    assert!(grown < GROWTH, "{grown} KiB");
}

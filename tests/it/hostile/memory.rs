//! The memory of a client under attack, in a process of its own.

use std::io::{BufRead, BufReader, stdin};
use std::time::Duration;

use rstest_reuse::apply;
use zklock::Config;

use super::relay::{Answers, Relay};
use super::{PATH, STALL};
use crate::support::events::{CONNECTED, event};
use crate::support::process::{Orders, Process, kibibytes, report};
use crate::support::{Kind, Space, TICK, on_both_servers};

/// The test that runs as the client in another process.
const VICTIM: &str = "hostile::memory::victim_process";
/// More than the memory of a client varies, and less than the requests take if they get no answers, in KiB.
const GROWTH: u64 = 24 << 10;

/// Takes a lock for the parent process, if there is one, and prints how much its memory has grown when it is told to.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn victim_process() {
    let Some((orders, [])) = Orders::read([]) else { return };
    let config = Config::new(&orders.connect).namespace(&orders.namespace).tick_time(TICK);
    let timeout = Duration::from_secs(10);
    let client = config.session_timeout(timeout).server_timeout(timeout * 2 / 5).connect().await.unwrap();
    let _guard = client.mutex(PATH).unwrap().lock().await.unwrap();
    let before = resident();
    report("victim: held");
    let told = tokio::task::spawn_blocking(|| stdin().lock().lines().next());
    told.await.unwrap().expect("the parent tells").unwrap();
    report(&format!("victim: {}", resident().saturating_sub(before)));
}

/// Returns the memory of this process, in KiB.
fn resident() -> u64 {
    kibibytes("VmRSS")
}

/// Attacks a client with these bytes until it has taken so many of them, and returns the growth of its memory in KiB.
async fn growth(kind: Kind, first: &[u8], again: Vec<u8>, pause: Duration, taken: u64) -> u64 {
    let space = Space::new(kind);
    let relay = Relay::start(space.server().address());
    let mut process = Process::start_at(VICTIM, (&relay.connect_string(), &space.namespace), []);
    let lines = BufReader::new(process.output()).lines().map_while(Result::ok);
    let mut lines = lines.filter_map(|line| Some(line.split_once("victim: ")?.1.to_owned()));
    assert_eq!(lines.next().as_deref(), Some("held"));
    let attack = relay.attack_after(first, again, pause, Answers::Arrive);
    let is_taken = async {
        while attack.written() < taken {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(STALL * 5, is_taken).await.expect("the client takes the bytes");
    process.tell("report");
    lines.next().expect("the client tells its memory").parse().unwrap()
}

#[apply(on_both_servers)]
#[tokio::test]
async fn a_frame_takes_no_memory_for_the_length_that_it_claims(kind: Kind) {
    let grown = growth(kind, &i32::MAX.to_be_bytes(), vec![0; 16], Duration::from_millis(1), 1 << 10).await;
    assert!(grown < GROWTH, "{grown} KiB");
}

#[apply(on_both_servers)]
#[tokio::test]
async fn endless_events_take_no_memory(kind: Kind) {
    let events = [1, 2, 3, 4].map(|kind| event(kind, CONNECTED, "/unknown/node")).concat().repeat(10);
    // Slowly enough that a busy server answers the requests that each of them causes.
    let grown = growth(kind, &[], events, Duration::from_millis(4), 8 << 20).await;
    assert!(grown < GROWTH, "{grown} KiB");
}

//! Calls in a random order, polled by an executor that chooses at random.

mod executor;
mod work;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use zklock::Client;
use zklock_testkit::{How, Proxy};

use self::executor::Executor;
use self::work::{Desk, LOCKS};
use crate::support::Space;
use crate::support::random::Random;

/// The number of schedules on each server.
const SEEDS: u64 = if cfg!(soak) { 12 } else { 4 };
/// The number of threads, each with an executor of its own.
const THREADS: u64 = 3;
/// The number of tasks of each thread.
const TASKS: u64 = 12;
/// A time that is much longer than one schedule takes.
const LONG: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn calls_exclude_each_other_in_any_order_and_leave_nothing() {
    for seed in 1..=SEEDS {
        let space = Space::new();
        let (proxy, shared) = space.proxied().await;
        let proxy = Arc::new(proxy);
        let clients = [shared.clone(), shared, space.client().await];
        let desk = Arc::new(Desk::default());
        let (ended, ends) = mpsc::channel();
        for (thread, client) in (0..THREADS).zip(clients.clone()) {
            let (desk, ended, random) = (desk.clone(), ended.clone(), Random::new(seed * THREADS + thread));
            thread::spawn(move || {
                run_tasks(&client, &desk, random);
                ended.send(()).ok();
            });
        }
        drop(ended);
        let is_over = Arc::new(AtomicBool::new(false));
        // Half of the schedules have no fault.
        let faults = (seed % 2 == 0).then(|| spawn_faults(proxy.clone(), Random::new(seed), is_over.clone()));
        let all = tokio::task::spawn_blocking(move || (0..THREADS).all(|_| ends.recv_timeout(LONG).is_ok()));
        assert!(all.await.unwrap(), "a thread of schedule {seed} failed, or does not end");
        is_over.store(true, Ordering::SeqCst);
        if let Some(faults) = faults {
            tokio::task::spawn_blocking(move || faults.join().unwrap()).await.unwrap();
        }
        assert!(desk.sections() > 100, "schedule {seed}: {} sections", desk.sections());
        for lock in LOCKS {
            space.until_empty(lock).await;
        }
    }
}

fn run_tasks(client: &Client, desk: &Arc<Desk>, mut random: Random) {
    let mut executor = Executor::new(random.fork());
    for _ in 0..TASKS {
        executor.spawn(desk.clone().work(client.clone(), random.fork()));
    }
    executor.run();
}

/// Breaks the connection at random times.
fn spawn_faults(proxy: Arc<Proxy>, mut random: Random, is_over: Arc<AtomicBool>) -> thread::JoinHandle<()> {
    thread::spawn(move || {
        while !is_over.load(Ordering::SeqCst) {
            // Slow enough for a reconnect in between, even on a busy machine.
            thread::sleep(Duration::from_millis(50 + random.below(150)));
            proxy.cut(How::Rst);
        }
    })
}

//! The real lines, grants and tasks in schedules that are chosen at random. Another task may run at each await, and at
//! each [`interleaving::point`](crate::interleaving::point).
//!
//! The servers are a queue in memory. The mutexes, channels and leases are the real ones.

mod caller;
mod chance;
mod contender;
mod contest;
mod desk;
mod fault;
mod servers;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use shuttle::MaxSteps;
use shuttle::future::{JoinHandle, block_on, spawn, yield_now};
use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};
use shuttle::sync::atomic::AtomicBool;
use tokio::runtime::{Builder, Runtime};

use crate::Config;
use crate::client::settings::Queueing;
use crate::client::worker::Worker;
use crate::contend::{Count, Permits, Wanted, staged};
use crate::interleaving::{Schedule, Task};
use crate::path::NodePath;
use crate::queue::predicate::{Place, Role};

use super::LocalQueues;

use self::contest::Reachable;
use self::desk::{Desk, Kind};
use self::servers::Servers;

/// The number of schedules of each kind.
const SCHEDULES: usize = if cfg!(soak) { 1_000 } else { 100 };
const CLIENTS: usize = 2;
const CALLERS: usize = 3;

/// Bounds that end often, by the number of grants. The time in a schedule stands still.
const QUEUEING: Queueing = Queueing::new(2, Duration::from_secs(3600));

#[test]
fn the_holders_of_a_mutex_follow_each_other_in_any_schedule() {
    explore(Kind::Mutex);
}

#[test]
fn readers_and_writers_exclude_each_other_in_any_schedule() {
    explore(Kind::ReadWrite);
}

#[test]
fn permits_are_not_exceeded_in_any_schedule() {
    explore(Kind::Semaphore { permits: 2 });
}

fn explore(kind: Kind) {
    explore_by(RandomScheduler::new(SCHEDULES), kind);
    explore_by(PctScheduler::new(3, SCHEDULES), kind);
}

fn explore_by(scheduler: impl Scheduler + 'static, kind: Kind) {
    let mut config = shuttle::Config::new();
    config.stack_size = 1 << 18;
    // A schedule has some hundred steps. One that does not end has lost a grant, or a node.
    config.max_steps = MaxSteps::FailAfter(100_000);
    let schedule =
        Schedule { point, spawn: spawn_task, timer: Some(|wait| Box::pin(tokio::time::sleep(wait))) };
    let grants = Arc::new(AtomicUsize::new(0));
    let counted = grants.clone();
    schedule.run(|| {
        shuttle::Runner::new(scheduler, config).run(move || block_on(perform(kind, &counted)));
    });
    let grants = grants.load(Ordering::SeqCst);
    assert!(grants > SCHEDULES * CLIENTS * CALLERS, "{grants} grants");
}

fn point() {
    // `shuttle` may run another task before each use of one of its atomics.
    AtomicBool::new(false).load(Ordering::SeqCst);
}

fn spawn_task(task: Task) {
    drop(spawn(task));
}

/// Performs one schedule.
async fn perform(kind: Kind, grants: &AtomicUsize) {
    let runtime = Arc::new(Builder::new_current_thread().enable_time().start_paused(true).build().unwrap());
    let _context = runtime.enter();
    let permits = if let Kind::Semaphore { permits } = kind { permits } else { 1 };
    let servers = Servers::new(permits);
    let _stage = staged::enter(Arc::new(Reachable(servers.clone())));
    let clients: Vec<_> = (0..CLIENTS).map(|_| client(&servers)).collect();
    let desk = Desk::new(kind, &servers);
    let mut callers = Vec::new();
    for client in &clients {
        callers.extend((0..CALLERS).map(|_| spawn_caller(client, &desk)));
    }
    let faults =
        spawn(fault::occur(servers.clone(), clients.iter().map(|client| client.0.clone()).collect()));
    for caller in callers {
        wait_for(caller, &runtime).await;
    }
    wait_for(faults, &runtime).await;
    while servers.nodes() > 0 || clients.iter().any(|client| is_busy(client, &servers)) {
        pass_time(&runtime).await;
    }
    servers.close();
    while servers.are_watching() {
        pass_time(&runtime).await;
    }
    assert_eq!(desk.holders(), 0);
    grants.fetch_add(desk.entered(), Ordering::SeqCst);
}

type StagedClient = (Arc<Worker>, LocalQueues);

fn client(servers: &Servers) -> StagedClient {
    let worker = Config::new("staged:2181").queueing(QUEUEING).staged();
    servers.open(&worker);
    (worker, LocalQueues::default())
}

/// Returns whether the client has a lease, or a task that works for a lock.
fn is_busy((worker, queues): &StagedClient, servers: &Servers) -> bool {
    let path = path();
    let is_in_use = !queues.registry.at(&path).is_empty();
    is_in_use || servers.session(worker).leases() > 0
}

fn path() -> NodePath {
    NodePath::new("", "/a").unwrap()
}

fn spawn_caller((worker, queues): &StagedClient, desk: &Arc<Desk>) -> JoinHandle<()> {
    let path = path();
    let line = |role| {
        let place = Place { role, also_behind: Arc::default() };
        Wanted::Place(place)
    };
    let wanted = match desk.kind() {
        Kind::Mutex => line(Role::Exclusive),
        Kind::ReadWrite => line(Role::Write),
        Kind::Semaphore { permits } => {
            let count = Count::Agreed(permits.try_into().unwrap());
            Wanted::Permits(Permits { wanted: 1, count })
        }
    };
    let queue = queues.of(worker, &path, &wanted).0;
    spawn(caller::call(queue, desk.clone()))
}

/// Waits for the end of a task, while the time of timers passes.
async fn wait_for(task: JoinHandle<()>, runtime: &Runtime) {
    while !task.is_finished() {
        pass_time(runtime).await;
    }
    task.await.unwrap();
}

async fn pass_time(runtime: &Runtime) {
    yield_now().await;
    if chance::one_in(8) {
        runtime.block_on(tokio::time::advance(Duration::from_millis(3)));
    }
}

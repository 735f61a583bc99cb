//! Many tasks of one client that wait at one lock.

use std::time::{Duration, Instant};

use clap::Args;
use tokio::task::JoinHandle;
use zklock::{Client, LockError, Mutex};
use zklock_testkit::ZooKeeper;

use crate::clients::{Counted, each_since, ms, patient, resident, until};
use crate::program::Failure;

/// Measures tasks of one client that wait at one lock, which another client holds.
///
/// `nodes`: the nodes of all waiting tasks on the server; it is one, or the measurement fails.
/// `bytes_per_waiter`: the resident memory of this process that came with the tasks, for each of them.
/// `bytes_per_bare_task`: the same of as many tasks of tokio that wait for nothing and hold nothing.
/// `bytes_of_future`: the size of the future of a waiting task, which is in its `bytes_per_waiter`.
/// `entered_ms`: from the first spawn until all wait.
/// `free_lock_ms`: the median of acquisition and release of another lock by this client while all wait, and
/// `free_lock_of_quiet_client_ms` the same by a client without waiters. Both take turns.
/// `served_ms`: from the release of the holder until each task has had the lock and released it, and
/// `requests_while_served` the requests of the client meanwhile.
/// `cancelled_ms`: from the cancellation of all tasks, which wait once more, until their node is gone, and
/// `requests_while_cancelled` the requests of the client meanwhile: one deletes the node.
/// A proxy in front of the server counts the requests, pings included. It adds to the times of requests.
#[derive(Args)]
pub(crate) struct Options {
    /// The number of tasks.
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..))]
    tasks: u32,
}

pub(crate) async fn measure(options: Options) -> Result<String, Failure> {
    let server = ZooKeeper::start()?;
    let other = patient(server.connect_string()).connect().await?;
    let (waiting, quiet) = (Counted::connect(&server).await?, Counted::connect(&server).await?);
    let crowd = Crowd { tasks: options.tasks, mutex: waiting.client.mutex(LOCK)?, other };
    for client in [&waiting.client, &quiet.client] {
        free(client, REPEATS).await?;
    }
    let holder = crowd.other.mutex(LOCK)?.lock().await?;
    // They stay, so that the waiters get no memory that was used before.
    let before = resident()?;
    let bare = bare_tasks(options.tasks);
    let bytes_per_bare_task = each_since(before, bare.len())?;
    let (before, start) = (resident()?, Instant::now());
    let tasks = crowd.wait().await?;
    let entered = start.elapsed();
    let bytes_per_waiter = each_since(before, tasks.len())?;
    let nodes = crowd.nodes().await?;
    let (mut crowded, mut alone) = (Vec::new(), Vec::new());
    for _ in 0..REPEATS {
        crowded.extend(free(&waiting.client, 1).await?);
        alone.extend(free(&quiet.client, 1).await?);
    }
    let (before, start) = (waiting.proxy.requests_total(), Instant::now());
    holder.release().await?;
    for task in tasks {
        task.await??;
    }
    let (served, requests_served) = (start.elapsed(), waiting.proxy.requests_total() - before);
    let holder = crowd.other.mutex(LOCK)?.lock().await?;
    let tasks = crowd.wait().await?;
    waiting.calm().await?;
    let (before, start) = (waiting.proxy.requests_total(), Instant::now());
    tasks.iter().for_each(JoinHandle::abort);
    until(async || Ok(crowd.nodes().await? == 0), "the node of the cancelled tasks stays").await?;
    let (cancelled, requests_cancelled) = (start.elapsed(), waiting.proxy.requests_total() - before);
    bare.iter().for_each(JoinHandle::abort);
    holder.release().await?;
    waiting.shut_down().await;
    quiet.shut_down().await;
    if nodes != 1 {
        return Err(format!("the waiters have {nodes} nodes").into());
    }
    Ok(format!(
        "waiters tasks={tasks} nodes={nodes} bytes_per_waiter={bytes_per_waiter:.0} \
         bytes_per_bare_task={bytes_per_bare_task:.0} bytes_of_future={bytes_of_future} entered_ms={entered:.1} \
         free_lock_ms={crowded:.3} free_lock_of_quiet_client_ms={alone:.3} served_ms={served:.1} \
         requests_while_served={requests_served} cancelled_ms={cancelled:.1} \
         requests_while_cancelled={requests_cancelled}",
        tasks = options.tasks,
        bytes_of_future = size_of_val(&visit(crowd.mutex.clone())),
        entered = ms(entered),
        crowded = ms(median(crowded)),
        alone = ms(median(alone)),
        served = ms(served),
        cancelled = ms(cancelled),
    ))
}

/// The tasks at the lock, and the client that holds it.
struct Crowd {
    tasks: u32,
    mutex: Mutex,
    other: Client,
}

impl Crowd {
    /// Spawns the tasks, and returns when all wait.
    async fn wait(&self) -> Result<Vec<JoinHandle<Result<(), LockError>>>, Failure> {
        let tasks = (0..self.tasks).map(|_| tokio::spawn(visit(self.mutex.clone()))).collect();
        let all_wait = async || {
            let participants = self.mutex.participants().await?;
            let waiting = participants.iter().filter_map(|participant| participant.waiting_here).max();
            Ok(waiting >= Some(self.tasks))
        };
        until(all_wait, "not all tasks wait").await?;
        Ok(tasks)
    }

    /// Returns the number of nodes at the lock besides the holder's.
    async fn nodes(&self) -> Result<usize, Failure> {
        Ok(self.other.mutex(LOCK)?.participants().await?.len() - 1)
    }
}

/// The work of one task: it takes the lock and releases it.
async fn visit(mutex: Mutex) -> Result<(), LockError> {
    mutex.lock().await?.release().await
}

fn bare_tasks(count: u32) -> Vec<JoinHandle<()>> {
    (0..count).map(|_| tokio::spawn(std::future::pending())).collect()
}

/// Takes a lock that is free, and returns the times of acquisition and release.
async fn free(client: &Client, repeats: u32) -> Result<Vec<Duration>, Failure> {
    let mutex = client.mutex(format!("/free/{}", client.identity()))?;
    let mut times = Vec::new();
    for _ in 0..repeats {
        let start = Instant::now();
        mutex.lock().await?.release().await?;
        times.push(start.elapsed());
    }
    Ok(times)
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

const LOCK: &str = "/crowd";
const REPEATS: u32 = 100;

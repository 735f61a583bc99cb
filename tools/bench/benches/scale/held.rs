//! Many locks that one client holds.

use std::time::{Duration, Instant};

use clap::Args;
use futures_util::{StreamExt, TryStreamExt, stream};
use zklock::{Client, LeaseState, MutexGuard};
use zklock_testkit::wire::Opcode;
use zklock_testkit::{How, ZooKeeper};

use crate::clients::{Counted, each_since, ms, patient, resident, shut_down, until};
use crate::program::Failure;

/// Measures distinct locks that one client holds.
///
/// `taken_ms`, `given_up_ms`: the time to take all of them, and to release them, with 256 calls under way.
/// `bytes_per_lock`: the resident memory of this process that came with the locks, for each of them.
/// `bytes_of_path`: the mean length of the path of a lock's node, which is in its `bytes_per_lock`.
/// `requests_per_s_at_rest`, `pings_per_s_at_rest`: the requests of the client while nothing happens, for `--rest`, without
/// pings, and the pings. Pings tell the client soon that a server is silent, whether it holds locks or not.
/// `told_first_ms`, `told_last_ms`: the time from the deletion of a node by an outsider until its holder is told, for
/// the first lock and for the last one that was taken.
/// `requests_of_reconnect`, `confirmed_ms`: after the connection was cut, the requests of the client until it knows
/// that it holds all locks, and the time until then.
/// The first four are of a client of its own. For the others, the locks are taken once more, through a proxy that counts
/// the requests, pings included. It adds to the times of requests.
#[derive(Args)]
pub(crate) struct Options {
    /// The number of locks. The paths of the nodes of one client may have 900 KiB together.
    #[arg(long, default_value_t = 9_000, value_parser = clap::value_parser!(u32).range(3..))]
    locks: u32,

    /// The length of the rest.
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = humantime::parse_duration)]
    rest: Duration,
}

pub(crate) async fn measure(options: Options) -> Result<String, Failure> {
    let server = ZooKeeper::start()?;
    let outsider = zookeeper_client::Client::connect(server.connect_string()).await?;
    let cost = cost(&server, &outsider, options.locks).await?;
    let counted = Counted::connect(&server).await?;
    let mut guards = take(&counted.client, options.locks).await?;
    counted.calm().await?;
    let sent = || [counted.proxy.requests_total(), counted.proxy.requests(Opcode::PING)];
    let before = sent();
    tokio::time::sleep(options.rest).await;
    let [all, pings] = sent();
    let pings = pings - before[1];
    let [requests_at_rest, pings_at_rest] =
        [all - before[0] - pings, pings].map(|count| count as f64 / options.rest.as_secs_f64());
    let told_last = told(&outsider, guards.pop().ok_or("there is no lock")?).await?;
    let told_first = told(&outsider, guards.swap_remove(0)).await?;
    let (requests, confirmed) = reconnect(&counted, &guards).await?;
    release(guards).await?;
    counted.shut_down().await;
    Ok(format!(
        "held locks={locks} bytes_per_lock={bytes_per_lock:.0} bytes_of_path={bytes_of_path} taken_ms={taken:.0} \
         given_up_ms={given_up:.0} requests_per_s_at_rest={requests_at_rest:.2} \
         pings_per_s_at_rest={pings_at_rest:.2} told_first_ms={told_first:.1} told_last_ms={told_last:.1} \
         requests_of_reconnect={requests} confirmed_ms={confirmed:.1}",
        locks = options.locks,
        bytes_per_lock = cost.bytes_per_lock,
        bytes_of_path = cost.bytes_of_path,
        taken = ms(cost.taken),
        given_up = ms(cost.given_up),
        told_first = ms(told_first),
        told_last = ms(told_last),
        confirmed = ms(confirmed),
    ))
}

/// The memory and the time that the locks take.
struct Cost {
    bytes_per_lock: f64,
    bytes_of_path: usize,
    taken: Duration,
    given_up: Duration,
}

/// Takes the locks with a client of its own, and releases them. There is no proxy, which would be in the memory of this
/// process with all that passes through it.
async fn cost(server: &ZooKeeper, outsider: &zookeeper_client::Client, locks: u32) -> Result<Cost, Failure> {
    let client = patient(server.connect_string()).connect().await?;
    client.mutex("/first")?.lock().await?.release().await?;
    let (before, start) = (resident()?, Instant::now());
    let guards = take(&client, locks).await?;
    let taken = start.elapsed();
    let bytes_per_lock = each_since(before, guards.len())?;
    let bytes_of_path = node(outsider, &guards[0]).await?.len() + digits(locks) - 1;
    let start = Instant::now();
    release(guards).await?;
    let given_up = start.elapsed();
    shut_down(client).await;
    Ok(Cost { bytes_per_lock, bytes_of_path, taken, given_up })
}

/// Takes the locks, the first one first.
async fn take(client: &Client, locks: u32) -> Result<Vec<MutexGuard>, Failure> {
    let take = async |number: u32| Ok::<_, Failure>(client.mutex(format!("/held/{number}"))?.lock().await?);
    let mut guards = vec![take(0).await?];
    guards.reserve_exact(locks as usize);
    // One by one, because another vector would leave its memory behind.
    let mut others = stream::iter(1..locks - 1).map(&take).buffer_unordered(AT_ONCE);
    while let Some(guard) = others.try_next().await? {
        guards.push(guard);
    }
    guards.push(take(locks - 1).await?);
    Ok(guards)
}

async fn release(guards: Vec<MutexGuard>) -> Result<(), Failure> {
    let mut releases = stream::iter(guards).map(MutexGuard::release).buffer_unordered(AT_ONCE);
    while let Some(released) = releases.next().await {
        released?;
    }
    Ok(())
}

/// Returns the path of the node of a held lock.
async fn node(outsider: &zookeeper_client::Client, guard: &MutexGuard) -> Result<String, Failure> {
    let path = guard.path();
    let children = outsider.list_children(path).await?;
    Ok(format!("{path}/{}", children.first().ok_or("a held lock has no node")?))
}

/// Deletes the node of a held lock, and returns the time until its holder is told.
async fn told(outsider: &zookeeper_client::Client, guard: MutexGuard) -> Result<Duration, Failure> {
    let node = node(outsider, &guard).await?;
    let start = Instant::now();
    outsider.delete(&node, None).await?;
    guard.lost().await;
    Ok(start.elapsed())
}

/// Cuts the connection, and returns the requests and the time until all locks are known to be held again.
async fn reconnect(counted: &Counted, guards: &[MutexGuard]) -> Result<(u64, Duration), Failure> {
    let (before, start) = (counted.proxy.requests_total(), Instant::now());
    counted.proxy.cut(How::Rst);
    let is_held = |guard: &MutexGuard| guard.state() == LeaseState::Held;
    until(async || Ok(!guards.iter().any(is_held)), "locks stay held without a connection").await?;
    until(async || Ok(guards.iter().all(is_held)), "not all locks are held again").await?;
    Ok((counted.proxy.requests_total() - before, start.elapsed()))
}

/// Returns how many digits most of the numbers below this one have.
fn digits(locks: u32) -> usize {
    (locks - 1).to_string().len()
}

/// The number of calls under way.
const AT_ONCE: usize = 256;

//! Annotated functions that start at most once per period.

use std::time::Duration;

use tokio::task::spawn_blocking;
use zklock::{Client, LockError, distributed_lock, leader_only};
use zklock_testkit::How;
use zklock_testkit::wire::Opcode;

use super::HOUR;
use crate::requests::{PATIENCE, quiet_client, requests};
use crate::support::{Server, Space, failed, soon, until, until_leads};

#[distributed_lock(path = "/jobs/{id}", once_per = "1h")]
async fn job(id: u8) -> Result<Option<u8>, LockError> {
    Ok(Some(id))
}

#[tokio::test]
async fn a_locked_function_starts_once_per_path_and_leaves_nothing_but_its_tick() {
    let space = Space::new();
    let calls = async || {
        let first = job(7).await.unwrap();
        (first, job(7).await.unwrap(), job(8).await.unwrap())
    };
    assert_eq!(zklock::scope(space.client().await, calls()).await, (Some(7), None, Some(8)));
    assert_eq!(zklock::scope(space.client().await, calls()).await, (None, None, None));
    space.until_empty("/jobs/7").await;
    let mut ticks = space.children("/zklock-ticks/it::once::attributes::job").await;
    ticks.sort();
    assert_eq!(ticks, ["jobs%2F7", "jobs%2F8"]);
}

#[tokio::test]
async fn a_period_that_is_known_to_have_begun_costs_no_lock() {
    let server = Server::start_granting(PATIENCE);
    let client = quiet_client(&server).await;
    let calls = async {
        assert_eq!(job(7).await.unwrap(), Some(7));
        let is_released =
            || async { server.four_letter("mntr").unwrap().contains("zk_ephemerals_count\t0\n") };
        until(is_released, "the request that releases the lock has arrived").await;
        let skipped = async {
            for _ in 0..100 {
                assert_eq!(job(7).await.unwrap(), None);
            }
        };
        assert_eq!(requests(&server, skipped).await, 0);
    };
    zklock::scope(client, calls).await;
}

const BUSY: &str = "/ticks/busy";

#[distributed_lock(path = "/busy", once_per = "1h", tick = BUSY, wait = "500ms")]
async fn busy() -> Result<Option<u8>, LockError> {
    Ok(Some(7))
}

#[tokio::test]
async fn call_that_finds_the_lock_taken_says_so_unless_the_period_has_begun() {
    let (space, client) = Space::with_client().await;
    // A holder that never starts may have died.
    let holder = space.client().await.mutex("/busy").unwrap().lock().await.unwrap();
    assert!(failed(zklock::scope(client.clone(), busy()).await).is_contended());
    assert!(holder.once_per(BUSY, HOUR).await.unwrap());
    assert_eq!(zklock::scope(client, busy()).await.unwrap(), None);
}

const SLOW: &str = "/ticks/slow";

#[distributed_lock(path = "/slow", once_per = "1h", tick = SLOW, wait = forever)]
async fn slow() -> Result<Option<u8>, LockError> {
    Ok(Some(7))
}

#[tokio::test]
async fn waiting_call_does_not_wait_for_a_body_that_began_the_period() {
    let space = Space::new();
    let holder = space.client().await.mutex("/slow").unwrap().lock().await.unwrap();
    let waits = tokio::spawn(zklock::scope(space.client().await, slow()));
    space.until_queued("/slow", 2).await;
    assert!(holder.once_per(SLOW, HOUR).await.unwrap());
    assert_eq!(soon(waits).await.unwrap().unwrap(), None);
    let comes_late = zklock::scope(space.client().await, slow());
    assert_eq!(soon(comes_late).await.unwrap(), None);
    assert!(holder.is_held());
    space.until_queued("/slow", 1).await;
}

#[tokio::test]
async fn a_call_that_waits_for_a_turn_is_told_that_its_client_is_shut_down() {
    let space = Space::new();
    let _holder = space.client().await.mutex("/slow").unwrap().lock().await.unwrap();
    let client = space.client().await;
    let waits = tokio::spawn(zklock::scope(client.clone(), slow()));
    space.until_queued("/slow", 2).await;
    soon(client.shutdown(Duration::ZERO)).await;
    assert!(failed(soon(waits).await.unwrap()).is_closed());
    assert_eq!(space.children("/slow").await.len(), 1);
}

#[tokio::test]
async fn a_look_at_the_tick_that_breaks_off_is_repeated() {
    let (space, proxy, client) = Space::with_proxy().await;
    let holder = space.client().await.mutex("/slow").unwrap().lock().await.unwrap();
    assert!(holder.once_per(SLOW, HOUR).await.unwrap());
    // The first request watches the holder's node.
    let cut = proxy.on_request(Opcode::GET_DATA).nth(2).cut(How::Rst);
    assert_eq!(soon(zklock::scope(client, slow())).await.unwrap(), None);
    assert_eq!(cut.hits(), 1);
}

#[distributed_lock(path = "/inherited", once_per = "1h", wait = "20s")]
async fn inherited() -> Result<Option<u8>, LockError> {
    Ok(Some(7))
}

#[tokio::test]
async fn the_turn_of_a_holder_that_died_before_it_started_is_taken_by_the_next() {
    let space = Space::quick();
    let (proxy, dead) = space.proxied().await;
    let holder = dead.mutex("/inherited").unwrap().lock().await.unwrap();
    proxy.refuse();
    proxy.cut(How::Rst);
    assert_eq!(zklock::scope(space.client().await, inherited()).await.unwrap(), Some(7));
    drop(holder);
}

#[distributed_lock(path = "/failing", once_per = "1h")]
async fn failing() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    Err("it failed".into())
}

#[tokio::test]
async fn a_start_counts_whatever_becomes_of_it() {
    let space = Space::new();
    let error = failed(zklock::scope(space.client().await, failing()).await);
    assert_eq!(error.to_string(), "it failed");
    zklock::scope(space.client().await, failing()).await.unwrap();
}

#[distributed_lock(path = ["/a", "/b"], once_per = "1h", mode = read)]
async fn both() -> Result<Option<u8>, LockError> {
    Ok(Some(1))
}

#[distributed_lock(path = "/a", mode = write, once_per = "1h")]
async fn one() -> Result<Option<u8>, LockError> {
    Ok(Some(2))
}

#[distributed_lock(path = "/a", mode = read, once_per = every, tick = "/ticks/{name}")]
async fn named(every: Duration, name: &str) -> Result<Option<u8>, LockError> {
    Ok(Some(3))
}

#[distributed_lock(path = "/b", once_per = "1h", tick = format!("/ticks/{name}"))]
async fn same(name: &str) -> Result<Option<u8>, LockError> {
    Ok(Some(4))
}

#[tokio::test]
async fn functions_count_for_themselves_unless_they_name_one_tick() {
    let space = Space::new();
    let calls = async {
        assert_eq!(both().await.unwrap(), Some(1));
        assert_eq!(both().await.unwrap(), None);
        assert_eq!(one().await.unwrap(), Some(2));
        assert_eq!(named(HOUR, "x").await.unwrap(), Some(3));
        assert_eq!(same("x").await.unwrap(), None);
        assert_eq!(same("y").await.unwrap(), Some(4));
    };
    zklock::scope(space.client().await, calls).await;
    let mut ticks = space.children("/ticks").await;
    ticks.sort();
    assert_eq!(ticks, ["x", "y"]);
}

struct Invoices(Client);
struct Reports<T>(Client, T);

impl Invoices {
    #[distributed_lock(path = "/twins", once_per = "1h", client = self.0)]
    async fn send(&self) -> Result<Option<u8>, LockError> {
        Ok(Some(1))
    }
}

trait Job {
    fn client(&self) -> &Client;

    #[leader_only(once_per = "1h", client = self.client(), otherwise = wait)]
    async fn audit(&self) -> Option<u8> {
        Some(6)
    }
}

impl Job for Invoices {
    fn client(&self) -> &Client {
        &self.0
    }
}

impl Job for Reports<u8> {
    fn client(&self) -> &Client {
        &self.0
    }
}

impl<T: Sync> Reports<T> {
    #[distributed_lock(path = "/twins", once_per = "1h", client = self.0)]
    async fn send(&self) -> Result<Option<u8>, LockError> {
        Ok(Some(3))
    }
}

#[tokio::test]
async fn methods_of_one_name_count_for_their_types_whatever_the_types_parameters() {
    let (space, client) = Space::with_client().await;
    let (invoices, reports) = (Invoices(client.clone()), Reports(client.clone(), 7_u8));
    assert_eq!(invoices.send().await.unwrap(), Some(1));
    assert_eq!(reports.send().await.unwrap(), Some(3));
    assert_eq!(Reports(client, "seven").send().await.unwrap(), None);
    assert_eq!((invoices.audit().await, invoices.audit().await), (Some(6), None));
    assert_eq!(reports.audit().await, Some(6));
    let module = "/zklock-ticks/it::once::attributes";
    for method in ["Invoices::send", "Reports::send"] {
        assert_eq!(space.children(&format!("{module}::{method}")).await, ["twins"], "{method}");
    }
    for method in ["Invoices::audit", "Reports::audit"] {
        assert_eq!(space.children(&format!("{module}::{method}")).await, ["leader"], "{method}");
    }
}

#[leader_only(path = "/office", once_per = "1h")]
async fn sweep() -> Option<u8> {
    Some(1)
}

#[leader_only(path = "/office", once_per = "1h", otherwise = error)]
async fn strict() -> Result<Option<u8>, LockError> {
    Ok(Some(2))
}

#[leader_only(path = "/office", once_per = "1h", guard = term, client = client)]
fn blocking(client: &Client) -> Result<Option<bool>, LockError> {
    Ok(Some(term.is_leading()))
}

#[distributed_lock(path = "/blocking", once_per = "1h", client = client)]
fn blocking_too(client: &Client) -> Result<Option<u8>, LockError> {
    Ok(Some(3))
}

#[tokio::test]
async fn the_leader_starts_once_and_a_follower_never() {
    let (_, [leader, follower]) = Space::with_clients().await;
    until_leads(&leader, "/office").await;
    let calls = async || (sweep().await, sweep().await, strict().await, strict().await);
    let (first, again, strictly, late) = zklock::scope(leader.clone(), calls()).await;
    assert_eq!((first, again), (Some(1), None));
    assert_eq!((strictly.unwrap(), late.unwrap()), (Some(2), None));
    let (first, again, strictly, _) = zklock::scope(follower.clone(), calls()).await;
    assert_eq!((first, again), (None, None));
    assert!(failed(strictly).is_not_leader());
    // The next leader continues the period.
    leader.shutdown(Duration::ZERO).await;
    soon(follower.leader("/office").unwrap().leadership()).await.unwrap();
    assert_eq!(zklock::scope(follower, sweep()).await, None);
}

#[tokio::test]
async fn functions_that_are_not_async_start_once_too() {
    let client = Space::new().client().await;
    until_leads(&client, "/office").await;
    let blocked = client.clone();
    let runs = spawn_blocking(move || {
        let leads = (blocking(&blocked).unwrap(), blocking(&blocked).unwrap());
        (leads, blocking_too(&blocked).unwrap(), blocking_too(&blocked).unwrap())
    });
    assert_eq!(runs.await.unwrap(), ((Some(true), None), Some(3), None));
    assert!(matches!(failed(blocking_too(&client)), LockError::WouldBlockRuntime { .. }));
}

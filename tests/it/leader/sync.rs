//! Functions that are not async, on the leader and on followers.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::task::spawn_blocking;
use zklock::{Client, FencingToken, LockError, leader_only};

use crate::requests::{PATIENCE, quiet_client, requests};
use crate::support::{SOON, Server, Space, failed, soon, until_leads};

const PATH: &str = "/leader";

#[leader_only(client = client, guard = term)]
fn epoch(client: &Client) -> Option<FencingToken> {
    Some(term.fencing_token())
}

#[leader_only(client = client)]
fn sweep(client: &Client, has_run: &AtomicBool) {
    has_run.store(true, Ordering::SeqCst);
}

#[leader_only(client = client, otherwise = error)]
fn refused(client: &Client) -> Result<u8, LockError> {
    Ok(1)
}

#[leader_only(client = client, otherwise = Ok(elsewhere? * 2))]
fn redirected(client: &Client, elsewhere: Result<u8, LockError>) -> Result<u8, LockError> {
    Ok(1)
}

#[leader_only(client = client, otherwise = wait)]
fn waits(client: &Client) -> Result<bool, LockError> {
    Ok(client.leader(PATH)?.is_leader())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn leader_runs_and_a_follower_returns_the_other_value() {
    let (_, [leader, follower]) = Space::with_clients().await;
    let begun = Instant::now();
    // It waits for two seconds, which a busy server may need.
    let has_waited = epoch(&leader).is_some() || begun.elapsed() >= Duration::from_secs(2);
    assert!(has_waited, "a first call waits for the election");
    until_leads(&leader, PATH).await;
    assert!(epoch(&leader).is_some());
    assert_eq!(epoch(&follower), None);
    let (swept, also_swept) = (AtomicBool::new(false), AtomicBool::new(false));
    sweep(&leader, &swept);
    sweep(&follower, &also_swept);
    assert!(swept.into_inner() && !also_swept.into_inner());
    assert_eq!(refused(&leader).unwrap(), 1);
    assert!(failed(refused(&follower)).is_not_leader());
    assert_eq!(redirected(&follower, Ok(8)).unwrap(), 16);
    assert!(failed(redirected(&follower, refused(&follower))).is_not_leader());

    let waiting = follower.clone();
    let call = spawn_blocking(move || waits(&waiting));
    leader.leader(PATH).unwrap().resign().await;
    assert!(soon(call).await.unwrap().unwrap());
}

#[tokio::test]
async fn a_call_that_would_stop_its_runtime_is_refused_whoever_leads() {
    let server = Server::start_granting(PATIENCE);
    let client = quiet_client(&server).await;
    let refuse = async || {
        for result in [refused(&client).map(|_| true), waits(&client)] {
            let error = failed(result);
            assert!(matches!(&error, LockError::WouldBlockRuntime { path } if path == PATH), "{error}");
        }
        let has_run = AtomicBool::new(false);
        sweep(&client, &has_run);
        assert!(epoch(&client).is_none() && !has_run.into_inner());
    };
    assert_eq!(requests(&server, refuse()).await, 0);
    until_leads(&client, PATH).await;
    refuse().await;
    let leads = client.clone();
    assert_eq!(spawn_blocking(move || refused(&leads)).await.unwrap().unwrap(), 1);
}

#[leader_only(client = client)]
fn panicking(client: &Client) {
    panic!("out of hay");
}

#[tokio::test]
async fn a_panic_goes_on_and_the_office_can_be_given_up() {
    let (space, client) = Space::with_client().await;
    until_leads(&client, PATH).await;
    let panics = client.clone();
    let panic = failed(soon(spawn_blocking(move || panicking(&panics))).await).into_panic();
    assert_eq!(panic.downcast_ref(), Some(&"out of hay"));
    assert!(client.leader(PATH).unwrap().is_leader());
    client.shutdown(SOON).await;
    space.until_withdrawn(PATH).await;
}

//! Functions that only one replica of a fleet runs.

use std::future::pending;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use zklock::{Client, FencingToken, LockError, leader_only};

use crate::attributes::Tracer;
use crate::support::{Server, Space, failed, soon, until_leads};

#[leader_only(guard = term)]
async fn epoch() -> Option<FencingToken> {
    Some(term.fencing_token())
}

const PATH: &str = "/leader";

async fn epochs(replicas: impl IntoIterator<Item = &Client>) -> Vec<Option<FencingToken>> {
    let mut epochs = Vec::new();
    for replica in replicas {
        epochs.push(zklock::scope(replica.clone(), epoch()).await);
    }
    epochs
}

async fn two_replicas(space: &Space, path: &str) -> (Client, Client) {
    let (leader, follower) = (space.client().await, space.client().await);
    until_leads(&leader, path).await;
    assert!(!follower.leader(path).unwrap().join().await.unwrap());
    space.until_queued(path, 2).await;
    (leader, follower)
}

#[leader_only(path = "/ticks")]
async fn tick(ran: &AtomicUsize) {
    ran.fetch_add(1, Ordering::SeqCst);
}

#[leader_only(path = "/ticks")]
async fn tock(ran: &AtomicUsize) -> Result<(), LockError> {
    ran.fetch_add(1, Ordering::SeqCst);
    Ok(())
}

#[tokio::test]
async fn the_first_calls_of_a_lone_replica_run_and_share_one_candidate() {
    let (space, ran) = (Space::new(), AtomicUsize::new(0));
    let calls = async {
        let begun = Instant::now();
        tokio::join!(tick(&ran), tick(&ran), tock(&ran)).2.unwrap();
        // A first call waits for two seconds, which a busy server may need.
        assert!(ran.load(Ordering::SeqCst) == 3 || begun.elapsed() >= Duration::from_secs(2));
        soon(zklock::leader("/ticks").unwrap().leadership()).await.unwrap();
        assert_eq!(space.children("/ticks").await.len(), 1);
        assert!(zklock::is_leader("/ticks") && !zklock::is_leader(PATH));
    };
    zklock::scope(space.client().await, calls).await;
}

#[leader_only(path = "/skipped/{id}")]
async fn nothing(id: u8) {
    unreachable!("{id}")
}

#[leader_only(path = "/skipped/{id}", otherwise = skip)]
async fn option(id: u8) -> Option<u8> {
    unreachable!("{id}")
}

#[leader_only(path = "/skipped/{id}")]
async fn result(id: u8) -> io::Result<()> {
    unreachable!("{id}")
}

#[leader_only(path = format!("/skipped/{id}"))]
async fn result_of_option(id: u8) -> Result<Option<u8>, LockError> {
    unreachable!("{id}")
}

#[leader_only(path = "/skipped/{id}", otherwise = error)]
async fn refused(id: u8) -> Result<u8, LockError> {
    unreachable!("{id}")
}

async fn elsewhere(id: u8) -> Result<u8, LockError> {
    Ok(id + 1)
}

#[leader_only(path = "/skipped/{id}", otherwise = Ok(elsewhere(id).await? * 2))]
async fn redirected(id: u8) -> Result<u8, LockError> {
    unreachable!("{id}")
}

#[leader_only(path = "/skipped/{id}", otherwise = |error| Err(io::Error::new(io::ErrorKind::ResourceBusy, error)))]
async fn by_a_closure(id: u8) -> io::Result<u8> {
    unreachable!("{id}")
}

#[tokio::test]
async fn a_follower_returns_what_its_type_or_the_attribute_says() {
    let space = Space::new();
    let (_leader, follower) = two_replicas(&space, "/skipped/7").await;
    let calls = async {
        nothing(7).await;
        assert_eq!(option(7).await, None);
        result(7).await.unwrap();
        assert_eq!(result_of_option(7).await.unwrap(), None);
        let error = failed(refused(7).await);
        assert!(matches!(&error, LockError::NotLeader { path, .. } if path == "/skipped/7"), "{error}");
        assert!(error.is_not_leader());
        assert_eq!(redirected(7).await.unwrap(), 16);
        let error = failed(by_a_closure(7).await);
        assert_eq!(error.kind(), io::ErrorKind::ResourceBusy);
        assert!(error.to_string().contains("not the leader at /skipped/7"), "{error}");
    };
    zklock::scope(follower, calls).await;
}

#[leader_only(path = "/lost/{name}")]
async fn endless(name: &str, _tracer: Tracer, started: oneshot::Sender<()>) -> Result<(), LockError> {
    started.send(()).expect("the test waits for the start");
    pending().await
}

#[leader_only(path = "/lost/{name}")]
async fn endless_option(name: &str, started: oneshot::Sender<()>) -> Option<u8> {
    started.send(()).expect("the test waits for the start");
    pending().await
}

#[leader_only(path = "/lost/{name}")]
async fn endless_nothing(name: &str, started: oneshot::Sender<()>) {
    started.send(()).expect("the test waits for the start");
    pending().await
}

#[tokio::test]
async fn a_body_is_dropped_when_leadership_is_lost() {
    let (space, client) = Space::with_client().await;
    let (tracer, dropped) = Tracer::new();
    let ((a, in_a), (b, in_b), (c, in_c)) = (oneshot::channel(), oneshot::channel(), oneshot::channel());
    let calls =
        async { tokio::join!(endless("a", tracer, a), endless_option("a", b), endless_nothing("a", c)) };
    until_leads(&client, "/lost/a").await;
    let call = tokio::spawn(zklock::scope(client.clone(), calls));
    for started in [in_a, in_b, in_c] {
        soon(started).await.unwrap();
    }
    space.end_session_of(&client);
    let (result, option, ()) = soon(call).await.unwrap();
    let error = failed(result);
    assert!(matches!(&error, LockError::Lost { path, .. } if path == "/lost/a"), "{error}");
    assert_eq!(option, None);
    assert!(dropped.load(Ordering::SeqCst));
}

#[tokio::test]
async fn a_call_that_is_dropped_drops_its_body_and_goes_on_to_lead() {
    let client = Space::new().client().await;
    let (tracer, dropped) = Tracer::new();
    let (start, started) = oneshot::channel();
    until_leads(&client, "/lost/b").await;
    let call = zklock::scope(client.clone(), endless("b", tracer, start));
    tokio::select! {
        result = call => panic!("an endless body ended: {result:?}"),
        started = soon(started) => started.unwrap(),
    }
    assert!(dropped.load(Ordering::SeqCst));
    let leader = client.leader("/lost/b").unwrap();
    assert!(leader.is_leader());
    assert_eq!(leader.participants().await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_follower_is_answered_while_no_server_answers() {
    let server = Server::start();
    let connect = async || server.client(Duration::from_secs(10)).await;
    let (leader, follower, late) = (connect().await, connect().await, connect().await);
    until_leads(&leader, PATH).await;
    assert!(epochs([&leader]).await[0].is_some());
    assert_eq!(epochs([&follower]).await, [None]);
    server.pause().unwrap();
    assert_eq!(soon(epochs([&follower])).await, [None]);
    // A candidate that does not know yet whether it follows does not wait forever either.
    assert_eq!(soon(epochs([&late])).await, [None]);
    server.resume().unwrap();
    drop(leader);
}

#[tokio::test]
async fn a_client_that_is_dropped_leaves_its_elections() {
    let (space, client) = Space::with_client().await;
    until_leads(&client, PATH).await;
    assert!(epochs([&client]).await[0].is_some());
    drop(client);
    space.until_empty(PATH).await;
}

#[leader_only(path = path, otherwise = error)]
async fn anywhere(path: &str) -> Result<(), LockError> {
    Ok(())
}

#[tokio::test]
async fn a_path_that_is_none_is_an_error_and_nothing_is_sent() {
    let calls = async {
        for path in ["", "a", "/a/", "/"] {
            assert!(matches!(failed(anywhere(path).await), LockError::InvalidPath { .. }), "{path}");
            assert!(matches!(failed(zklock::leader(path)), LockError::InvalidPath { .. }), "{path}");
            assert!(!zklock::is_leader(path));
        }
    };
    zklock::scope(Space::new().client().await, calls).await;
}

#[leader_only(path = "/bounded", otherwise = wait, wait = "1s")]
async fn waits_for_a_second() -> Result<u8, LockError> {
    Ok(7)
}

#[leader_only(path = "/bounded", otherwise = wait, wait = wait, client = client)]
fn blocks_for_a_while(client: &Client, wait: Duration) -> Option<u8> {
    Some(7)
}

#[tokio::test]
async fn a_wait_for_leadership_has_a_bound() {
    let space = Space::new();
    let (leader, follower) = two_replicas(&space, "/bounded").await;
    let error = failed(soon(zklock::scope(follower.clone(), waits_for_a_second())).await);
    let LockError::Timeout { path, waited, .. } = &error else { panic!("{error}") };
    assert_eq!((&path[..], *waited), ("/bounded", Duration::from_secs(1)));
    let blocked = {
        let follower = follower.clone();
        tokio::task::spawn_blocking(move || blocks_for_a_while(&follower, Duration::from_millis(1)))
    };
    assert_eq!(soon(blocked).await.unwrap(), None);
    leader.leader("/bounded").unwrap().resign().await;
    let waited = tokio::task::spawn_blocking(move || blocks_for_a_while(&follower, Duration::MAX));
    assert_eq!(soon(waited).await.unwrap(), Some(7));
}

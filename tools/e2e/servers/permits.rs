//! Three servers, some or all of which are killed. Only real servers replicate.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use zklock::{Client, Config, Health};
use zklock_testkit::Ensemble;

use crate::support::{SOON, TICK, failed, soon, until};

const PATH: &str = "/pool";
/// A session timeout that outlasts the restart of three servers on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// The work under the permit, which one task does at a time.
#[derive(Clone, Default)]
struct Room(Arc<AtomicBool>);

impl Room {
    #[track_caller]
    fn enter(&self) {
        assert!(!self.0.swap(true, Ordering::SeqCst), "two hold the permit at the same time");
    }

    fn leave(&self) {
        self.0.store(false, Ordering::SeqCst);
    }
}

/// Clients that work under one permit repeatedly.
struct Workers {
    clients: Vec<Client>,
    done: Arc<Vec<AtomicUsize>>,
    tasks: JoinSet<()>,
}

impl Workers {
    async fn start(ensemble: &Ensemble, count: usize) -> Self {
        let (room, mut tasks, mut clients) = (Room::default(), JoinSet::new(), Vec::new());
        let done: Arc<Vec<_>> = Arc::new((0..count).map(|_| AtomicUsize::new(0)).collect());
        for number in 0..count {
            let config = Config::new(ensemble.connect_string()).namespace("/cluster");
            let config = config.session_timeout(PATIENCE).tick_time(TICK).default_wait(PATIENCE);
            let client = config.connect().await.expect("the ensemble accepts a client");
            let (semaphore, room, done) = (client.semaphore(PATH, 1).unwrap(), room.clone(), done.clone());
            clients.push(client);
            tasks.spawn(async move {
                loop {
                    let guard = semaphore.acquire_timeout(Duration::MAX).await.unwrap();
                    if guard.is_held() {
                        room.enter();
                        done[number].fetch_add(1, Ordering::SeqCst);
                        room.leave();
                    }
                    guard.release().await.ok();
                }
            });
        }
        Self { clients, done, tasks }
    }

    fn done(&self) -> Vec<usize> {
        self.done.iter().map(|done| done.load(Ordering::SeqCst)).collect()
    }

    /// Waits until each client has worked some more.
    async fn all_work(&mut self) {
        let before = self.done();
        let mut is_done = Duration::ZERO;
        while !self.done().iter().zip(&before).all(|(now, before)| *now >= before + 2) {
            assert!(self.tasks.try_join_next().is_none(), "a worker failed");
            assert!(is_done < PATIENCE, "timed out waiting for work: {before:?}, {:?}", self.done());
            sleep(TICK / 10).await;
            is_done += TICK / 10;
        }
    }

    async fn all_are(&self, health: Health) {
        let healths = || self.clients.iter().map(Client::health).collect::<Vec<_>>();
        let noticed = async {
            while healths().iter().any(|other| *other != health) {
                sleep(TICK / 10).await;
            }
        };
        let is_noticed = timeout(SOON, noticed).await.is_ok();
        assert!(is_noticed, "timed out waiting until all are {health:?}: {:?}", healths());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn work_under_a_permit_stops_without_a_majority_and_goes_on_with_one() {
    let ensemble = tokio::task::spawn_blocking(|| {
        Ensemble::builder().tick_time(TICK).max_session_timeout(PATIENCE).start().unwrap()
    });
    let ensemble = ensemble.await.unwrap();
    let mut workers = Workers::start(&ensemble, 8).await;
    workers.all_work().await;

    // Any single server may fail, even the leader.
    ensemble.leader().unwrap().kill().unwrap();
    workers.all_work().await;

    let followers = ensemble.followers().unwrap();
    followers[0].kill().unwrap();
    workers.all_are(Health::Suspended).await;
    let before = workers.done();
    let semaphore = workers.clients[0].semaphore(PATH, 1).unwrap();
    // At the workers' path, the call would wait behind that of its client.
    let free = workers.clients[0].semaphore("/free", 1).unwrap();
    let error = failed(soon(free.acquire_timeout(Duration::from_millis(500))).await);
    assert!(error.is_timeout() && !error.is_contended(), "{error}");
    assert_eq!(workers.done(), before, "no client works without a majority");
    tokio::task::block_in_place(|| followers[0].restart().unwrap());
    workers.all_work().await;

    // All servers are killed, and come back with their data.
    for server in ensemble.servers() {
        let _ = server.kill();
    }
    workers.all_are(Health::Suspended).await;
    tokio::task::block_in_place(|| ensemble.restart().unwrap());
    workers.all_work().await;

    workers.tasks.abort_all();
    while workers.tasks.join_next().await.is_some() {}
    let is_free = || async { semaphore.participants().await.unwrap().is_empty() };
    until(is_free, "no node is left").await;
    for client in &workers.clients {
        soon(client.shutdown(Duration::ZERO)).await;
    }
}

//! A fleet with default settings, while a server of its ensemble is silent, restarts or dies. Only real servers
//! replicate.

use std::time::{Duration, Instant};

use rstest::rstest;
use tokio::task::block_in_place;
use zklock::{Client, Config, LeaderLatch, Leadership, LeaseState, MutexGuard};
use zklock_testkit::{Direction, Ensemble, How, Proxy};

use crate::support::{soon, until};

const CLIENTS: usize = 20;
const LOCKS: usize = 5;
/// The time for which a server is silent. It is longer than a session.
const SILENCE: Duration = Duration::from_secs(40);

/// Clients, each of which holds some locks and leads an election.
struct Fleet {
    guards: Vec<MutexGuard>,
    leaders: Vec<(LeaderLatch, Leadership)>,
    _clients: Vec<Client>,
}

impl Fleet {
    async fn start(connect: &str) -> Self {
        let (mut guards, mut leaders, mut clients) = (Vec::new(), Vec::new(), Vec::new());
        for number in 0..CLIENTS {
            let client = Config::new(connect).connect().await.unwrap();
            for lock in 0..LOCKS {
                let path = format!("/locks/{number}-{lock}");
                guards.push(client.mutex(path).unwrap().lock().await.unwrap());
            }
            let latch = client.leader_latch(format!("/leaders/{number}")).unwrap();
            let term = soon(latch.leadership()).await.unwrap();
            leaders.push((latch, term));
            clients.push(client);
        }
        Self { guards, leaders, _clients: clients }
    }

    fn assert_kept(&self) {
        let is_lost = |guard: &&MutexGuard| matches!(guard.state(), LeaseState::Lost(_));
        let lost = self.guards.iter().filter(is_lost).count();
        let deposed = self.leaders.iter().filter(|(_, term)| !term.is_leading()).count();
        assert_eq!((lost, deposed), (0, 0), "lost locks and leaders that stopped to lead");
    }

    async fn outlive(&self, time: Duration) {
        let end = tokio::time::Instant::now() + time;
        while tokio::time::Instant::now() < end {
            tokio::time::sleep(Duration::from_millis(100)).await;
            self.assert_kept();
        }
    }

    async fn until_confirmed(&self) {
        let is_held = |guard: &MutexGuard| {
            assert!(!matches!(guard.state(), LeaseState::Lost(_)), "a lock is lost");
            guard.state() == LeaseState::Held
        };
        until(|| async { self.guards.iter().all(is_held) }, "all locks are confirmed").await;
        for guard in &self.guards {
            guard.verify().await.unwrap();
        }
        for (latch, term) in &self.leaders {
            term.verify().await.unwrap();
            assert!(latch.is_leader());
        }
        self.assert_kept();
    }
}

#[rstest]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fleet_outlives_a_stopped_server(#[values(true, false)] is_leader: bool) {
    let ensemble = Ensemble::builder().sync_limit(2).start().unwrap();
    let fleet = Fleet::start(ensemble.connect_string()).await;
    let server = if is_leader { ensemble.leader().unwrap() } else { ensemble.followers().unwrap()[0] };
    server.pause().unwrap();
    fleet.outlive(SILENCE).await;
    server.resume().unwrap();
    fleet.until_confirmed().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fleet_outlives_a_server_whose_packets_vanish() {
    let ensemble = Ensemble::start().unwrap();
    let proxies = [0, 1, 2].map(|index| Proxy::start(ensemble.server(index).address()).unwrap());
    let fleet = Fleet::start(&proxies.each_ref().map(Proxy::connect_string).join(",")).await;
    let busiest = proxies.iter().max_by_key(|proxy| proxy.sessions().len()).unwrap();
    busiest.blackhole(Direction::Both);
    fleet.outlive(SILENCE).await;
    busiest.heal();
    fleet.until_confirmed().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fleet_outlives_a_rolling_restart_and_the_end_of_a_leader() {
    let ensemble = Ensemble::start().unwrap();
    let fleet = Fleet::start(ensemble.connect_string()).await;
    for index in 0..3 {
        block_in_place(|| ensemble.server(index).restart()).unwrap();
        fleet.until_confirmed().await;
    }
    let leader = block_in_place(|| ensemble.leader()).unwrap();
    leader.kill().unwrap();
    block_in_place(|| ensemble.leader()).unwrap();
    fleet.until_confirmed().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fleet_outlives_a_restart_of_all_servers_at_once() {
    let ensemble = Ensemble::start().unwrap();
    let proxies = [0, 1, 2].map(|index| Proxy::start(ensemble.server(index).address()).unwrap());
    let fleet = Fleet::start(&proxies.each_ref().map(Proxy::connect_string).join(",")).await;
    for outage in [12, 14, 16].map(Duration::from_secs) {
        let begun = Instant::now();
        proxies.iter().for_each(Proxy::refuse);
        proxies.iter().for_each(|proxy| proxy.cut(How::Fin));
        block_in_place(|| ensemble.restart()).unwrap();
        block_in_place(|| ensemble.leader()).unwrap();
        tokio::time::sleep(outage.saturating_sub(begun.elapsed())).await;
        proxies.iter().for_each(Proxy::heal);
        fleet.until_confirmed().await;
    }
}

//! The turns of clients that compete for one lock.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use rstest_reuse::apply;
use tokio::task::JoinSet;
use tokio::time::sleep;
use zklock::{Client, FencingToken, Queueing};

use super::{PATH, spawn_lock, until_in_line};
use crate::support::{Kind, Space, on_both_servers, soon};

/// The holders of the lock, in their order: their client and their token.
type Record = Arc<Mutex<Vec<(usize, FencingToken)>>>;

/// The tasks of one client that compete for the lock.
struct Team {
    client: Client,
    number: usize,
    tasks: usize,
    /// The number of times that each task takes the lock.
    turns: usize,
    body: Duration,
}

impl Team {
    /// Lets the tasks take the lock repeatedly, and record it.
    fn contend(&self, tasks: &mut JoinSet<()>, record: &Record) {
        let (number, turns, body) = (self.number, self.turns, self.body);
        for _ in 0..self.tasks {
            let (mutex, record) = (self.client.mutex(PATH).unwrap(), record.clone());
            tasks.spawn(async move {
                for _ in 0..turns {
                    let guard = mutex.lock_timeout(Duration::MAX).await.unwrap();
                    record.lock().unwrap().push((number, guard.fencing_token()));
                    if !body.is_zero() {
                        sleep(body).await;
                    }
                    guard.release().await.unwrap();
                }
            });
        }
    }
}

/// Returns the number of holders under each node, up to the last turn of the client that ends first.
fn turns(record: &Record) -> Vec<usize> {
    let record = record.lock().unwrap();
    let last = |client| record.iter().rposition(|(one, _)| *one == client).unwrap();
    let competing = &record[..=last(0).min(last(1))];
    competing.chunk_by(|(_, a), (_, b)| a.zxid() == b.zxid()).map(<[_]>::len).collect()
}

#[apply(on_both_servers)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_others_wait_behind_gives_way_after_64_grants(kind: Kind) {
    let space = Space::new(kind);
    let (record, mut tasks) = (Record::default(), JoinSet::new());
    let clients = [space.client().await, space.client().await];
    // Both clients compete from the first turn that is counted.
    let guard = clients[0].mutex(PATH).unwrap().lock().await.unwrap();
    for (number, client) in clients.iter().enumerate() {
        let team = Team { client: client.clone(), number, tasks: 50, turns: 20, body: Duration::ZERO };
        team.contend(&mut tasks, &record);
    }
    space.until_queued(PATH, 2).await;
    until_in_line(&clients[0], 50).await;
    guard.release().await.unwrap();
    soon(tasks.join_all()).await;
    // A turn is longer if the other client entered the queue only during it.
    let mut turns = turns(&record);
    turns.sort_unstable();
    let median = turns[turns.len() / 2];
    assert!((2..=64).contains(&median), "{turns:?}");
}

#[apply(on_both_servers)]
#[tokio::test]
async fn clients_with_long_bodies_alternate(kind: Kind) {
    let space = Space::new(kind);
    let (record, mut tasks) = (Record::default(), JoinSet::new());
    let clients = [space.client().await, space.client().await];
    let guard = clients[0].mutex(PATH).unwrap().lock().await.unwrap();
    for (number, client) in clients.iter().enumerate() {
        let body = Duration::from_millis(60);
        let team = Team { client: client.clone(), number, tasks: 4, turns: 1, body };
        team.contend(&mut tasks, &record);
    }
    space.until_queued(PATH, 2).await;
    until_in_line(&clients[0], 4).await;
    // The turn of the first client is over.
    sleep(Duration::from_millis(60)).await;
    guard.release().await.unwrap();
    soon(tasks.join_all()).await;
    let clients: Vec<_> = record.lock().unwrap().iter().map(|(client, _)| *client).collect();
    assert_eq!(clients, [1, 0, 1, 0, 1, 0, 1, 0]);
}

#[apply(on_both_servers)]
#[tokio::test]
async fn a_client_that_nobody_waits_behind_keeps_its_node_without_a_bound(kind: Kind) {
    let space = Space::new(kind);
    let client = space.client().await;
    let guard = client.mutex(PATH).unwrap().lock().await.unwrap();
    let node = space.children(PATH).await;
    let (record, mut tasks) = (Record::default(), JoinSet::new());
    let team = Team { client: client.clone(), number: 0, tasks: 10, turns: 100, body: Duration::ZERO };
    team.contend(&mut tasks, &record);
    until_in_line(&client, 10).await;
    let last = spawn_lock(&client);
    let first = guard.fencing_token().zxid();
    guard.release().await.unwrap();
    let guard = soon(last).await.unwrap().unwrap();
    assert_eq!(guard.fencing_token().zxid(), first);
    assert_eq!(space.children(PATH).await, node);
    guard.release().await.unwrap();
    soon(tasks.join_all()).await;
}

#[apply(on_both_servers)]
#[tokio::test]
async fn without_time_a_client_gives_way_after_each_grant(kind: Kind) {
    let space = Space::new(kind);
    let queueing = Queueing::Process { turns: 64, within: Duration::ZERO };
    let client = space.config().queueing(queueing).connect().await.unwrap();
    let other = space.client().await;
    let guard = client.mutex(PATH).unwrap().lock().await.unwrap();
    let own = spawn_lock(&client);
    until_in_line(&client, 1).await;
    let others = spawn_lock(&other);
    space.until_queued(PATH, 2).await;
    let token = guard.fencing_token();
    super::until_accompanied(&space, &client, PATH).await;
    guard.release().await.unwrap();
    let guard = soon(others).await.unwrap().unwrap();
    assert!(!own.is_finished() && guard.fencing_token() > token);
    guard.release().await.unwrap();
    soon(own).await.unwrap().unwrap().release().await.unwrap();
}

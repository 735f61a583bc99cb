//! The events of many attempts add up, whatever happens to the attempts.

use std::time::Duration;

use fastrand::Rng;
use tokio::task::JoinSet;
use tokio::time::sleep;
use zklock::{Client, Guard, LockError, Member};
use zklock_testkit::How;

use super::Listener;
use crate::support::session_end::end_session;
use crate::support::{Space, lead, polled, soon, until};

const LOCKS: [&str; 4] = ["/sums/mutex", "/sums/alone", "/sums/shelf", "/sums/room"];
const TASKS: u64 = 20;
const CALLS: u64 = 50;

async fn end<K>(guard: Guard<K>, random: &mut Rng) {
    if random.u32(..3) == 0 {
        sleep(Duration::from_millis(random.u64(..10))).await;
    }
    match random.u64(..5) {
        0 => drop(guard),
        1 => drop(guard.release().await),
        2 => drop(guard.run(sleep(Duration::from_millis(2))).await),
        3 => guard.finish().await,
        _ => drop(polled(guard.release(), 1 + random.u64(..2)).await),
    }
}

/// Makes one call at one of the locks. Any error will do.
pub(crate) async fn call(client: &Client, random: &mut Rng) -> Result<(), LockError> {
    let wait = Duration::from_millis(if random.u32(..3) == 0 { 1 + random.u64(..8) } else { 20_000 });
    let (mutex, alone) = (client.mutex(LOCKS[0])?, client.exclusive(LOCKS[1])?);
    let (shelf, room) = (client.rwlock(LOCKS[2])?, client.semaphore(LOCKS[3], 3)?);
    match random.u64(..11) {
        0 => {
            if let Some(guard) = mutex.try_lock().await? {
                end(guard, random).await;
            }
        }
        1 | 2 => end(mutex.lock_timeout(wait).await?, random).await,
        3 => end(alone.lock_timeout(wait).await?, random).await,
        4 => end(shelf.write_timeout(wait).await?, random).await,
        5 => {
            let reader = shelf.write_timeout(wait).await?.downgrade().await?;
            end(reader, random).await;
        }
        6 => end(shelf.read_timeout(wait).await?, random).await,
        7 => end(room.acquire_timeout(wait).await?, random).await,
        8 => end(room.acquire_many_timeout(2, wait).await?, random).await,
        9 => {
            let writer = shelf.write_timeout(wait).await?;
            // The reader outlives the writer, whose lock is downgraded in the background.
            let reader = writer.scope(shelf.read()).await?;
            end(writer, random).await;
            end(reader, random).await;
        }
        _ => {
            let members = [Member::mutex(LOCKS[0]), Member::read(LOCKS[2])];
            end(client.multi(members)?.lock_timeout(wait).await?, random).await;
        }
    }
    Ok(())
}

async fn work(client: Client, mut random: Rng) {
    for _ in 0..CALLS {
        let polls = if random.u32(..5) == 0 { 1 + random.u64(..5) } else { u64::MAX };
        let mut calls = random.fork();
        polled(call(&client, &mut calls), polls).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_of_a_thousand_attempts_begins_and_ends_once() {
    let (space, proxy, client) = Space::with_proxy().await;
    let listener = Listener::start(&client);
    let mut random = Rng::with_seed(7);
    let mut tasks = JoinSet::new();
    for _ in 0..TASKS {
        tasks.spawn(work(client.clone(), random.fork()));
    }
    let faults = async {
        // Slow enough for a reconnect in between, even on a busy machine.
        loop {
            sleep(Duration::from_millis(50 + random.u64(..100))).await;
            match random.u64(..8) {
                0..4 => proxy.cut(How::Rst),
                4..7 => delete_a_child(&space, LOCKS[random.u64(..3) as usize]).await,
                _ => {
                    let session = client.session_id();
                    let server = space.server().address();
                    let ended =
                        session.map(|id| tokio::task::spawn_blocking(move || end_session(server, id)));
                    if let Some(ended) = ended {
                        ended.await.unwrap();
                    }
                }
            }
        }
    };
    tokio::select! {
        _ = tasks.join_all() => {}
        () = faults => {}
    }
    let guard = soon(client.mutex(LOCKS[0]).unwrap().lock()).await.unwrap();
    space.delete_children(LOCKS[0]).await;
    soon(guard.lost()).await;
    drop(guard);
    client.shutdown(Duration::from_secs(20)).await;
    drop(client);
    let ledger = listener.end().await;
    ledger.check();
    assert!(ledger.count(&["Begun"]) >= 1_000, "{ledger:?}");
    for name in ["Queued", "Acquired", "TimedOut", "Cancelled", "Released", "PassedOn", "Lost"] {
        assert!(ledger.count(&[name]) > 0, "no attempt has {name}: {ledger:?}");
    }
}

async fn delete_a_child(space: &Space, path: &str) {
    if let Some(child) = space.children(path).await.first() {
        space.outsider().await.delete(&space.full(&format!("{path}/{child}")), None).await.ok();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_term_of_many_candidates_begins_and_ends_once() {
    let (space, proxy, client) = Space::with_proxy().await;
    let listener = Listener::start(&client);
    let mut candidates = JoinSet::new();
    for nth in 0..5 {
        let client = client.clone();
        candidates.spawn(async move {
            for _ in 0..6 {
                let latch = client.election("/sums/leader").unwrap().latch();
                let Ok(term) = soon(latch.leadership()).await else { continue };
                match nth {
                    0 => term.resign(),
                    1 => drop(latch.close().await),
                    _ => drop(latch),
                }
            }
        });
    }
    let selector = client.election("/sums/selector").unwrap().auto_requeue();
    let selector = selector.select(|_| async { sleep(Duration::from_millis(1)).await });
    let faults = async {
        loop {
            sleep(Duration::from_millis(150)).await;
            proxy.cut(How::Rst);
            sleep(Duration::from_millis(150)).await;
            delete_a_child(&space, "/sums/selector").await;
        }
    };
    tokio::select! {
        _ = candidates.join_all() => {}
        () = faults => {}
    }
    let (latch, term) = lead(&client, "/sums/lost").await;
    space.delete_children("/sums/lost").await;
    soon(term.lost()).await;
    // A term keeps its client.
    drop((term, latch));
    until(async || client.readiness().is_ready(), "the client is connected").await;
    space.end_session_of(&client);
    soon(selector.close()).await.unwrap();
    client.shutdown(Duration::from_secs(20)).await;
    drop(client);
    let ledger = listener.end().await;
    ledger.check();
    // The selector is a new candidate in each of its terms.
    assert!(ledger.count(&["Begun"]) >= 32, "{ledger:?}");
    for name in ["Elected", "Resigned", "Lost", "Withdrawn"] {
        assert!(ledger.count(&[name]) > 0, "no candidate has {name}: {ledger:?}");
    }
}

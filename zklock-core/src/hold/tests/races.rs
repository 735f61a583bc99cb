//! Holds that are entered and ended at the same time.

use std::thread;

use fastrand::Rng;
use tokio::runtime::Handle;
use zklock_testkit::EmbeddedServer;

use super::super::*;
use crate::client::{connect, connected};

/// Each round has another order of the threads.
const ROUNDS: usize = if cfg!(soak) { 300 } else { 50 };

/// Returns a server, and two clients.
async fn clients() -> (EmbeddedServer, Client, Client) {
    let (server, one) = connected().await;
    let other = connect(&server).await;
    (server, one, other)
}

/// The entries into one lock that several threads enter and end.
struct Tree {
    share: Arc<Share>,
    entries: Mutex<Vec<Arc<Entry>>>,
}

impl Tree {
    /// Enters one of the entries, if nothing is in the way. The lock is held then.
    fn enter(&self, chance: &mut Rng) -> Option<Hold> {
        let entries = self.entries.lock().clone();
        let outer = &entries[chance.usize(..entries.len())];
        let (access, permits) = match (outer.access, chance.usize(..3)) {
            (Access::Write, 0) => (Access::Write, GATE_PERMITS),
            _ => (Access::Read, 1),
        };
        let permit = outer.gate().clone().try_acquire_many_owned(permits).ok()?;
        let hold = outer.join(access, permit)?;
        self.check_held();
        self.entries.lock().push(hold.entry().clone());
        Some(hold)
    }

    fn check_held(&self) {
        self.share.check().expect("a hold keeps the lock");
    }

    /// Enters and ends holds in a random order.
    fn go(&self, mut holds: Vec<Hold>, mut chance: Rng) {
        for _ in 0..12 {
            match (chance.usize(..4), holds.len()) {
                (0 | 1, _) | (_, 0) => holds.extend(self.enter(&mut chance)),
                (2, count) => {
                    let hold = &mut holds[chance.usize(..count)];
                    if hold.entry().access == Access::Write {
                        drop(hold.become_reader());
                        self.entries.lock().push(hold.entry().clone());
                    }
                }
                (_, count) => {
                    let hold = holds.swap_remove(chance.usize(..count));
                    self.check_held();
                    drop(hold);
                }
            }
        }
        if !holds.is_empty() {
            self.check_held();
        }
    }
}

/// If an entry could be joined after its end, a hold would not keep the lock, or the lock would be given back twice.
#[tokio::test]
async fn holds_that_are_entered_and_ended_at_random_keep_the_lock_until_the_last_one_ends() {
    let (_server, client, other) = clients().await;
    let (lock, stranger) = (client.rwlock("/a").unwrap(), other.rwlock("/a").unwrap());
    for round in 0..ROUNDS as u64 * 6 {
        let first = lock.write().await.unwrap().into_holds();
        let (share, entry) = (first[0].share().clone(), first[0].entry().clone());
        let tree = Tree { share, entries: Mutex::new(vec![entry]) };
        thread::scope(|scope| {
            let mut first = Some(first);
            for nth in 0..3 {
                let (tree, holds) = (&tree, first.take().unwrap_or_default());
                let runtime = Handle::current();
                scope.spawn(move || {
                    let _runtime = runtime.enter();
                    tree.go(holds, Rng::with_seed(round * 3 + nth));
                });
            }
        });
        assert!(tree.share.check().is_err(), "round {round}: the last hold has ended");
        for entry in tree.entries.lock().iter() {
            assert!(entry.is_over() && entry.gate().available_permits() == GATE_PERMITS as usize);
        }
        if round % 50 == 0 {
            stranger.write().await.expect("the lock was given back").release().await.unwrap();
        }
    }
}

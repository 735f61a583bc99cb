//! An entry alone inside of a hold, as the calls inside of that entry find it.

use std::sync::Arc;

use super::node::Node;

/// One entry alone inside of a hold. It keeps neither held.
///
/// A body can run inside of such an entry although the entry has no node: its scope refers to the visit. The node is made
/// when something is entered inside of it.
#[derive(Clone)]
pub(super) struct Visit {
    outer: Arc<Node>,
    /// The number of entries that were seen and had ended before it.
    nth: u64,
}

impl Visit {
    /// Returns the entry alone inside of this hold before which this many have ended.
    pub(super) fn new(outer: &Arc<Node>, nth: u64) -> Self {
        Self { outer: outer.clone(), nth }
    }

    /// Returns the present entry alone inside of this hold.
    pub(super) fn present(outer: &Arc<Node>) -> Self {
        Self::new(outer, outer.visits.ended())
    }

    /// Returns the hold around the entry. It may have ended before the entry.
    pub(super) fn outer(&self) -> &Arc<Node> {
        &self.outer
    }

    /// Returns the node of the entry, or `None` if the entry has ended.
    pub(super) fn node(&self) -> Option<Arc<Node>> {
        // While the entry has not ended, it keeps the ties of the hold around it. These are not the last ones.
        let make = || Some(self.outer.ties()?.of_visit());
        self.outer.visits.with(self.nth, make, |own| own.node.clone())
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use futures_lite::future::block_on;
    use futures_util::future::lazy;

    use crate::client::connected;
    use crate::hold::{inherit, inherit_blocking};
    use crate::{Config, Mutex};

    #[tokio::test]
    async fn what_is_inside_of_a_visit_keeps_siblings_out_after_its_end() {
        let (_server, client) = connected().await;
        let mutex = client.mutex("/a").unwrap();
        let held = mutex.lock().await.unwrap();
        let inside = async {
            let visit = mutex.lock().await.unwrap();
            let heir = visit.scope(lazy(|_| inherit(mutex.try_lock()))).await;
            let deeper = heir.await.unwrap().expect("nobody is inside of the visit");
            assert!(mutex.try_lock().await.unwrap().is_none(), "a sibling of the visit is let in");
            drop(visit);
            assert!(mutex.try_lock().await.unwrap().is_none(), "a sibling of the visit is beside its heir");
            drop(deeper);
            mutex.try_lock().await.unwrap().expect("the heir has left")
        };
        drop(held.scope(inside).await);
    }

    #[tokio::test]
    async fn a_visit_that_has_ended_is_not_entered() {
        let (_server, client) = connected().await;
        let mutex = client.mutex("/a").unwrap();
        let held = mutex.lock().await.unwrap();
        let inside = async {
            let visit = mutex.lock().await.unwrap();
            let heir =
                visit.scope(lazy(|_| inherit(async { (mutex.try_lock().await, crate::held().len()) })));
            let heir = heir.await;
            drop(visit);
            let next = mutex.lock().await.unwrap();
            let (tried, held) = heir.await;
            assert!(tried.unwrap().is_none(), "the heir enters the visit that came after its own");
            assert_eq!(held, 1, "the first hold is left");
            drop(next);
        };
        held.scope(inside).await;
    }

    #[tokio::test]
    async fn a_visit_outlives_the_hold_around_it() {
        let (server, client) = connected().await;
        let other = Config::new(server.connect_string()).connect().await.unwrap();
        let (mutex, stranger) = (client.mutex("/a").unwrap(), other.mutex("/a").unwrap());
        let held = mutex.lock().await.unwrap();
        let visit = held.scope(mutex.lock()).await.unwrap();
        held.release().await.unwrap();
        let deeper = visit.scope(mutex.lock()).await.unwrap();
        visit.release().await.unwrap();
        assert!(deeper.is_held() && stranger.try_lock().await.unwrap().is_none());
        deeper.release().await.unwrap();
        assert!(stranger.try_lock().await.unwrap().is_some());
    }

    #[tokio::test]
    async fn a_body_inside_of_a_visit_finds_each_entry_around_it_once() {
        let (_server, client) = connected().await;
        let (mutex, other) = (client.mutex("/a").unwrap(), client.mutex("/b").unwrap());
        let found = mutex.run(async |_| {
            let inside = mutex.run(async |_| crate::held().len()).await.unwrap();
            let below = mutex.run(async |_| other.run(async |_| crate::held().len()).await).await.unwrap();
            [crate::held().len(), inside, below.unwrap()]
        });
        assert_eq!(found.await.unwrap(), [1, 2, 3]);
    }

    /// Enters a visit that ends meanwhile on another thread.
    async fn race(mutex: &Mutex, stranger: &Mutex) {
        let held = mutex.lock().await.unwrap();
        let visit = held.scope(mutex.lock()).await.unwrap();
        let entering = mutex.clone();
        let enter = async { inherit_blocking(move || block_on(entering.lock())) };
        let heir = thread::spawn(visit.scope(enter).await);
        drop(held);
        visit.release().await.unwrap();
        let heir = heir.join().unwrap().unwrap();
        assert!(heir.is_held());
        assert!(stranger.try_lock().await.unwrap().is_none(), "a stranger holds beside {heir:?}");
        heir.release().await.unwrap();
    }

    /// Each round has another order of the threads.
    const ROUNDS: usize = if cfg!(soak) { 300 } else { 50 };

    #[tokio::test]
    async fn an_heir_enters_alone_while_the_visit_around_it_ends() {
        let (server, client) = connected().await;
        let other = Config::new(server.connect_string()).connect().await.unwrap();
        let (mutex, stranger) = (client.mutex("/a").unwrap(), other.mutex("/a").unwrap());
        for _ in 0..ROUNDS {
            race(&mutex, &stranger).await;
        }
    }
}

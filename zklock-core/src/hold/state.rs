//! The ways in which a hold keeps its lock, and the remains of a hold that has ended.

use std::sync::Arc;

use crate::client::Client;
use crate::cohort::Grant;

use super::entry::{Again, Entry};
use super::inside::Inside;
use super::node::Ties;
use super::spanned::Spanned;
use super::stake::Stake;

/// The way in which a hold keeps its lock.
#[derive(Debug)]
pub(super) enum State {
    Tied(Tied),
    /// It is a mutex that was entered again.
    Inside(Inside),
    /// It is the first hold of a lock, and began without ties: nothing is entered inside of most locks that are held for
    /// long.
    Bare(Bare),
    Ended,
}

/// A hold that began with ties.
#[derive(Debug)]
pub(super) struct Tied {
    /// The ties of the hold around this one. The first hold has its own here.
    pub(super) ties: Arc<Ties>,
    /// Dropped after the ties, so that the stake of the last hold finds nothing to downgrade.
    pub(super) stake: Stake,
    pub(super) entry: Entry,
    pub(super) standing: Standing,
}

/// A hold that began without ties.
///
/// The client ends after the grant, because the end of the last client ends the session: the lease is released and not
/// lost.
#[derive(Debug)]
pub(super) struct Bare {
    pub(super) grant: Arc<Grant>,
    pub(super) client: Client,
    pub(super) entry: Entry,
}

/// The relation of a hold to the hold around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// It is the first hold of a lock.
    First,
    /// The hold around it has admitted it in this way.
    Inside(Again),
}

/// The remains of a hold that has ended.
pub(super) enum Left {
    Tied {
        /// The own ties of an inner hold that has some.
        own: Option<Arc<Ties>>,
        /// The ties of the hold around it. The first hold has its own here.
        around: Arc<Ties>,
        stake: Stake,
    },
    Bare {
        grant: Arc<Grant>,
        client: Client,
    },
}

impl State {
    /// Returns the ties with which the hold began, or the hold without ties.
    #[inline]
    pub(super) fn ties(&self) -> Result<&Arc<Ties>, &Bare> {
        match self {
            Self::Tied(tied) => Ok(&tied.ties),
            Self::Inside(inside) => Ok(inside.ties()),
            Self::Bare(bare) => Err(bare),
            Self::Ended => unreachable!("a hold that has ended is not used"),
        }
    }

    /// Ends the hold, which has these own ties if something may have been entered inside of it. Returns what it leaves
    /// behind, unless it has ended before.
    #[inline]
    pub(super) fn leave(self, own: Option<Arc<Ties>>) -> Option<Left> {
        match self {
            Self::Tied(tied) => Some(tied.leave(own)),
            Self::Inside(inside) => {
                let (of_visit, around) = inside.leave_ties();
                Some(Left::Tied { own: of_visit, around, stake: Stake::default() })
            }
            Self::Bare(bare) => Some(bare.leave(own)),
            Self::Ended => None,
        }
    }
}

impl Tied {
    #[inline]
    fn leave(self, own: Option<Arc<Ties>>) -> Left {
        let Self { ties: around, stake, standing, .. } = self;
        let Standing::Inside(again) = standing else {
            around.node.end();
            return Left::Tied { own: None, around, stake };
        };
        let of_visit = around.node.end_visit(again);
        let own = own.or(of_visit);
        match &own {
            Some(own) => own.node.end(),
            None => around.node.gate.leave(again),
        }
        Left::Tied { own, around, stake }
    }
}

impl Bare {
    pub(super) fn ties(&self) -> Arc<Ties> {
        Ties::first(&self.client, self.entry, (self.grant.clone(), Spanned::none()))
    }

    fn leave(self, own: Option<Arc<Ties>>) -> Left {
        let Self { grant, client, .. } = self;
        match own {
            None => Left::Bare { grant, client },
            Some(around) => {
                around.node.end();
                // The ties have the grant and the client too, so that neither ends here.
                drop((grant, client));
                Left::Tied { own: None, around, stake: Stake::default() }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use futures_lite::future::block_on;
    use zklock_testkit::EmbeddedServer;

    use crate::{Config, Mutex, inherit_blocking};

    /// Enters a first hold that ends meanwhile on another thread.
    async fn race(mutex: &Mutex, stranger: &Mutex) {
        let held = mutex.lock().await.unwrap();
        let entering = mutex.clone();
        let enter = async { inherit_blocking(move || block_on(entering.lock())) };
        let heir = thread::spawn(held.scope(enter).await);
        held.release().await.unwrap();
        let heir = heir.join().unwrap().unwrap();
        assert!(heir.is_held());
        assert!(stranger.try_lock().await.unwrap().is_none(), "a stranger holds beside {heir:?}");
        heir.release().await.unwrap();
        assert!(stranger.try_lock().await.unwrap().is_some(), "the last hold has given the lock back");
    }

    /// Each round has another order of the threads.
    const ROUNDS: usize = if cfg!(soak) { 300 } else { 50 };

    #[tokio::test]
    async fn an_heir_enters_alone_while_the_first_hold_around_it_ends() {
        let server = EmbeddedServer::start().unwrap();
        let connect = || Config::new(server.connect_string()).connect();
        let (client, other) = (connect().await.unwrap(), connect().await.unwrap());
        let (mutex, stranger) = (client.mutex("/a").unwrap(), other.mutex("/a").unwrap());
        for _ in 0..ROUNDS {
            race(&mutex, &stranger).await;
        }
    }
}

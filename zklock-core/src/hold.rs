//! Reentrancy: the tree of holds of one logical call.
//!
//! Each entry into a lock is a *hold*. Holds belong to the logical call rather than to a thread or a task:
//! a scope carries them along with the future that runs under the lock. Inside that future, the
//! same lock is entered again without a request. The new hold is a child of the nearest hold of that lock.
//! A hold admits one child at a time, or several children that read:
//!
//! ```text
//!  lock()            the lease
//!   └ hold ── run ──► a() enters again     one child at a time, so that siblings, such as the two
//!                      └ hold ── … ──►     sides of a join!, exclude each other
//! ```
//!
//! A writer can enter again to read, but a reader cannot enter again to write. When the last hold for
//! writing ends while holds for reading are left, the lock is downgraded.
//!
//! Holds may end in any order, and the lease is released when the last one is dropped. A parent admits
//! the next child when the current child and all holds below it have ended. A scope does not keep a hold
//! alive: a spawned task that inherited the scope prolongs the lock only while the task has entered the
//! lock itself. A scope refers to a hold that has ended until the next lock is taken inside of the scope. Such
//! holds are forgotten then, so that a function can spawn itself inside of its lock any number of times.
//!
//! A hold has a node of its own in the tree, which scopes refer to, once something may be entered inside of it.
//! Until then, an inner hold shares the ties of its parent to the lock, so that entering again costs no allocation. The
//! first hold of a lock keeps the lock by itself until then, unless it is to write or has a span.
//!
//! A term of leadership is in the same scope, so that the calls below it find it. It cannot be entered.
//!
//! Uses the floors below: `cohort`, `acquire`, `client`, `lease`, `session`, `queue`, `events`, `path`, `mode`, `token`,
//! `error` and `interleaving`.

use std::mem;
use std::sync::{Arc, OnceLock};

use crate::acquire::Patience;
use crate::client::Client;
use crate::cohort::Grant;
use crate::error::LockError;
use crate::events::HoldSpan;
use crate::lease::{Share, Tenure};
use crate::token::FencingToken;

use self::ending::Ending;
use self::entry::Again;
use self::inside::Inside;
use self::node::{Node, Place, Ties};
use self::spanned::Spanned;
use self::stake::Stake;
use self::state::{Bare, Left, Standing, State, Tied};
use self::waiting::turn_of;

pub(crate) use self::body::{run_and_finish, run_at_once};
pub(crate) use self::door::{Door, UNNAMED};
pub(crate) use self::ending::OnRevoke;
pub(crate) use self::enter::{Waiting, enter, enter_again_to_run};
pub(crate) use self::entry::Entry;
pub(crate) use self::finishing::finish;
pub(crate) use self::held::{Held, Leading};
pub(crate) use self::holds::Holds;
pub use self::mutexed::MutexBody;
pub(crate) use self::release::{Releasing, begin_release, release_within};
pub(crate) use self::scope::held;
#[cfg(test)]
pub(crate) use self::scope::length;
pub use self::scoped::{inherit, inherit_blocking};
pub(crate) use self::scoped::{scope, scope_blocking, scope_blocking_in_term, scope_in_term};
pub(crate) use self::sought::Sought;
pub(crate) use self::waiting::confirm;

mod body;
mod chain;
mod door;
mod ending;
mod enter;
mod entry;
mod finishing;
mod gate;
mod held;
mod holder;
mod holds;
mod inside;
mod mutexed;
mod node;
mod over;
mod release;
mod revocation;
mod scope;
mod scoped;
mod sought;
mod spanned;
mod stake;
mod state;
mod stay;
mod taken;
mod visit;
mod visits;
mod waiting;

/// One entry into a lock. It is small, because each call that waits has room for it.
#[derive(Debug)]
pub(crate) struct Hold {
    state: State,
    /// The own ties of a hold that began without any, made before something is entered inside of it. Those of an inner
    /// hold have its place in the hold around it.
    own: OnceLock<Arc<Ties>>,
}

impl Hold {
    pub(crate) fn tenure(&self) -> &Arc<Tenure> {
        self.share().tenure()
    }

    pub(crate) fn token(&self) -> FencingToken {
        self.share().token()
    }

    /// Returns this holder's share of the lease.
    pub(crate) fn share(&self) -> &Arc<Share> {
        match self.state.ties() {
            Ok(ties) => ties.node.share(),
            Err(bare) => bare.grant.share(),
        }
    }

    pub(crate) fn client(&self) -> &Client {
        match self.state.ties() {
            Ok(ties) => &ties.client,
            Err(bare) => &bare.client,
        }
    }

    /// Returns the span for a body under this hold, unless the body is to stay in the present one.
    #[inline]
    fn span_for_body(&self) -> Option<Arc<HoldSpan>> {
        let around = self.state.ties().ok()?;
        self.own.get().unwrap_or(around).span.for_body()
    }

    /// Enters this write hold again for reading.
    pub(crate) async fn enter_to_read(&self, patience: Patience) -> Result<Self, LockError> {
        let node = self.node();
        let path = self.tenure().path();
        let queue = (node.gate.queue().clone(), Again::Shared);
        turn_of(self.client().worker(), path, queue, patience).await?;
        // The new hold replaces this one, so the token of `end` is cancelled only when both have ended.
        let ending = node.present_ending();
        let place = Place::admitted(node.clone(), Again::Shared);
        Ok(Self::placed((self.own_ties().clone(), Stake::default()), Entry::Read, (place, ending)))
    }

    /// Returns the first hold of a lock.
    fn first(client: &Client, entry: Entry, (grant, span): (Arc<Grant>, Spanned)) -> Self {
        if entry != Entry::Write && span.is_none() {
            let state = State::Bare(Bare { grant, client: client.clone(), entry });
            return Self { state, own: OnceLock::new() };
        }
        let ties = Ties::first(client, entry, (grant, span));
        let stake = ties.node.writing.as_ref();
        let stake = stake.map(|writing| Stake::first(writing, client)).unwrap_or_default();
        Self::tied((ties, stake), entry, Standing::First)
    }

    #[inline(always)]
    fn tied((ties, stake): (Arc<Ties>, Stake), entry: Entry, standing: Standing) -> Self {
        let tied = Tied { ties, stake, entry, standing };
        Self { state: State::Tied(tied), own: OnceLock::new() }
    }

    /// Returns the hold of an entry that the hold with these ties has admitted. If that hold has ended meanwhile, gives the
    /// admission up and returns `None`.
    #[inline(always)]
    fn inside(ties: Arc<Ties>, entry: Entry, again: Again) -> Option<Self> {
        if entry == Entry::Mutex {
            let state = State::Inside(Inside::admitted(ties)?);
            return Some(Self { state, own: OnceLock::new() });
        }
        let stake = match ties.node.is_over() {
            true => None,
            false => Self::stake(&ties, entry),
        };
        let Some(stake) = stake else {
            ties.node.gate.leave(again);
            return None;
        };
        Some(Self::tied((ties, stake), entry, Standing::Inside(again)))
    }

    /// Returns the hold of an entry that has this place inside of others.
    fn placed(
        (ties, stake): (Arc<Ties>, Stake),
        entry: Entry,
        (place, ending): (Place, Option<Arc<Ending>>),
    ) -> Self {
        let standing = Standing::Inside(place.again());
        let own = OnceLock::from(ties.inner(entry, place, ending));
        let mut hold = Self::tied((ties, stake), entry, standing);
        hold.own = own;
        hold
    }

    #[inline]
    fn join(node: &Node, entry: Entry) -> Option<(Arc<Ties>, Stake)> {
        if node.is_over() {
            return None;
        }
        // In this order: a stake without ties would downgrade the lock if it were the last one.
        let ties = node.ties()?;
        let stake = Self::stake(&ties, entry)?;
        Some((ties, stake))
    }

    /// Returns the stake of an entry, or `None` if it is to write and the writing has ended.
    #[inline]
    fn stake(ties: &Ties, entry: Entry) -> Option<Stake> {
        match &ties.node.writing {
            Some(writing) if entry == Entry::Write => Stake::join(writing, &ties.client),
            _ => Some(Stake::default()),
        }
    }

    /// Returns the node of this hold, in which something may be entered.
    fn node(&self) -> &Arc<Node> {
        &self.own_ties().node
    }

    fn own_ties(&self) -> &Arc<Ties> {
        let Tied { ties: around, entry, standing, .. } = match &self.state {
            State::Tied(tied) => tied,
            State::Inside(inside) => return self.own.get_or_init(|| inside.own_ties()),
            State::Bare(bare) => return self.own.get_or_init(|| bare.ties()),
            State::Ended => unreachable!("a hold that has ended is not used"),
        };
        let Standing::Inside(again) = *standing else { return around };
        self.own.get_or_init(|| match again {
            Again::Alone => around.node.visits.ties(|| around.of_visit()),
            Again::Shared => {
                let place = Place::admitted(around.node.clone(), again);
                around.inner(*entry, place, None)
            }
        })
    }

    /// Returns the hold around this one if this is a visit of it: it is alone there, and has no ties of its own.
    #[inline]
    fn around(&self) -> Option<&Arc<Node>> {
        let is_alone = match &self.state {
            State::Tied(tied) => tied.standing == Standing::Inside(Again::Alone),
            State::Inside(_) => true,
            State::Bare(_) | State::Ended => false,
        };
        if !is_alone || self.own.get().is_some() {
            return None;
        }
        self.state.ties().ok().map(|around| &around.node)
    }

    /// Ends this hold if it shares the hold around it, and leaves nothing behind but the ties of that one. Returns whether it
    /// has ended.
    #[inline]
    fn has_left_the_others(&self) -> bool {
        match &self.state {
            State::Tied(Tied { ties, stake, standing: Standing::Inside(Again::Shared), .. })
                if stake.is_none() && self.own.get().is_none() =>
            {
                ties.node.gate.leave(Again::Shared);
                true
            }
            State::Tied(_) | State::Inside(_) | State::Bare(_) | State::Ended => false,
        }
    }

    /// Ends this hold. It is a function of its own, so that the drop of an entry inside of another one is short.
    #[inline(never)]
    fn give_up(&mut self) {
        drop(self.leave());
    }

    /// Ends this hold, and returns what it leaves behind, unless it has ended before.
    #[inline]
    fn leave(&mut self) -> Option<Left> {
        let own = self.own.take();
        mem::replace(&mut self.state, State::Ended).leave(own)
    }
}

impl Drop for Hold {
    #[inline]
    fn drop(&mut self) {
        match &self.state {
            // It ends as a field does.
            State::Inside(_) | State::Ended => {}
            State::Tied(_) | State::Bare(_) if self.has_left_the_others() => {}
            State::Tied(_) | State::Bare(_) => self.give_up(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use futures_lite::future::block_on;

    use super::*;
    use crate::client::connected;
    use crate::{Config, RwLock};

    #[tokio::test]
    async fn a_hold_that_ends_during_an_entry_is_not_entered() {
        let (_server, client) = connected().await;
        let lock = client.rwlock("/a").unwrap();
        for (entry, again) in [(Entry::Write, Again::Alone), (Entry::Read, Again::Shared)] {
            let writer = lock.write().await.unwrap();
            let node = writer.holds()[0].node().clone();
            let ties = node.admit(again, Tenure::is_held).expect("nothing is in the way");
            // Another entry keeps the lock.
            let reader = writer.holds()[0].own_ties().clone();
            drop(writer);
            assert!(Hold::inside(ties, entry, again).is_none());
            assert!(node.gate.admit(again).is_some());
            drop(reader);
            lock.write().await.unwrap().release().await.unwrap();
        }
    }

    #[tokio::test]
    async fn a_writer_does_not_join_a_writing_that_has_ended() {
        let (_server, client) = connected().await;
        let writer = client.rwlock("/a").unwrap().write().await.unwrap();
        let writing = writer.holds()[0].node().writing.clone().unwrap();
        let another = Stake::join(&writing, &client).expect("the writer writes");
        drop(writer);
        assert!(Stake::join(&writing, &client).is_some_and(|joined| joined.give_up().is_none()));
        assert!(another.give_up().is_some());
        assert!(Stake::join(&writing, &client).is_none());
    }

    /// Writes inside of a hold that ends meanwhile on another thread.
    async fn race(lock: &RwLock, stranger: &RwLock) {
        let writer = lock.write().await.unwrap();
        let token = writer.fencing_token();
        let entering = lock.clone();
        let enter = async { inherit_blocking(move || block_on(entering.write())) };
        let heir = thread::spawn(writer.scope(enter).await);
        writer.release().await.unwrap();
        let heir = heir.join().unwrap().unwrap();
        assert!(heir.fencing_token() >= token && heir.is_held());
        let tried = stranger.try_read().await.unwrap();
        assert!(tried.is_none(), "a stranger reads beside {heir:?}");
        heir.release().await.unwrap();
    }

    /// Each round has another order of the threads.
    const ROUNDS: usize = if cfg!(soak) { 300 } else { 50 };

    #[tokio::test]
    async fn an_heir_writes_alone_while_the_hold_around_it_ends() {
        let (server, client) = connected().await;
        let other = Config::new(server.connect_string()).connect().await.unwrap();
        let (lock, stranger) = (client.rwlock("/a").unwrap(), other.rwlock("/a").unwrap());
        for _ in 0..ROUNDS {
            race(&lock, &stranger).await;
        }
    }
}

//! An entry alone inside of a hold, for a body that runs at once.

use std::sync::Arc;

use crate::client::ClientId;
use crate::error::LockError;
use crate::events::HoldSpan;
use crate::lease::Tenure;

use super::entry::{Again, Entry};
use super::finishing::{Finishing, finish_end, giving_back};
use super::holder::{Holder, Lost};
use super::node::{Node, Ties};
use super::scope::{Scope, admitted, within_visit};
use super::sought::Sought;

/// An entry alone inside of a hold of a mutex. It has no guard: a body that begins at once is all that runs under it.
///
/// It is as small as a pointer, because it takes less time to enter a lock again than to move a guard a few times.
#[derive(Debug)]
pub(crate) struct Inside {
    /// The ties of the hold around it. `None` once it has ended.
    around: Option<Arc<Ties>>,
}

impl Inside {
    /// Enters the mutex at this path again if the current call holds it, and nothing is in the way.
    ///
    /// The lease clock is not read here: the body's first step is preceded by a reading, which would only repeat this one.
    #[inline]
    pub(crate) fn enter(client: ClientId, path: &str) -> Option<Self> {
        let sought = Sought::new(client, path, Entry::Mutex);
        // A mutex is entered alone.
        let (ties, _) = admitted(sought, Tenure::is_unbroken)?;
        let is_over = ties.node.is_over();
        let inside = Self { around: Some(ties) };
        (!is_over).then_some(inside)
    }

    #[inline]
    fn ties(&self) -> &Arc<Ties> {
        self.around.as_ref().expect("it ends once")
    }

    /// Ends it, and returns what it leaves behind: its own ties, if it has some, and those of the hold around it.
    #[inline(always)]
    fn leave(&mut self) -> Option<(Option<Arc<Ties>>, Arc<Ties>)> {
        let around = self.around.take()?;
        let own = around.node.visits.end();
        match &own {
            Some(own) => own.node.end(),
            None => around.node.gate.leave(Again::Alone),
        }
        Some((own, around))
    }
}

impl Holder for Inside {
    #[inline]
    fn check(&self) -> Result<(), LockError> {
        self.ties().node.tenure().check()
    }

    fn lost(&self) -> Lost {
        let tenure = self.ties().node.tenure().clone();
        Box::pin(async move { tenure.lost().await })
    }

    #[inline]
    fn around(&self) -> Option<&Arc<Node>> {
        Some(&self.ties().node)
    }

    fn scope(&self) -> Scope {
        within_visit(&self.ties().node)
    }

    #[inline]
    fn span(&self) -> Option<Arc<HoldSpan>> {
        self.ties().span.for_body()
    }

    #[inline]
    fn finish(mut self) -> Finishing {
        let (own, around) = self.leave().expect("it ends once");
        let ties = match own {
            None => around,
            Some(own) => {
                drop(around);
                own
            }
        };
        // Most often, others hold the lock as before.
        let Some(last) = Arc::into_inner(ties) else { return Finishing::nothing() };
        let release = last.client.worker().settings().release;
        finish_end(last.end(giving_back(release)))
    }
}

impl Drop for Inside {
    #[inline]
    fn drop(&mut self) {
        drop(self.leave());
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::pin::pin;

    use allocation_counter::measure;
    use futures_util::FutureExt;
    use futures_util::poll;
    use tokio::sync::oneshot;
    use zklock_testkit::EmbeddedServer;

    use super::*;
    use crate::hold::{inherit, taken::Taken};
    use crate::{Client, Config, LossReason, held};

    async fn client(server: &EmbeddedServer) -> Client {
        Config::new(server.connect_string()).connect().await.unwrap()
    }

    fn inside(client: &Client) -> Taken {
        Taken::Again(
            Inside::enter(client.id(), "/a").expect("the call holds the mutex, and nobody is inside"),
        )
    }

    #[tokio::test]
    async fn a_body_inside_allocates_nothing_and_finds_both_holds() {
        let server = EmbeddedServer::start().unwrap();
        let client = client(&server).await;
        let guard = client.mutex("/a").unwrap().lock().await.unwrap();
        let run = async {
            let counted = measure(|| inside(&client).run(async {}).now_or_never().unwrap().unwrap());
            assert_eq!(counted.count_total, 0);
            assert_eq!(inside(&client).run(async { held().len() }).await.unwrap(), 2);
            assert_eq!(held().len(), 1);
        };
        guard.scope(run).await;
        assert!(Inside::enter(client.id(), "/a").is_none(), "the call does not hold the mutex");
    }

    #[tokio::test]
    async fn a_body_keeps_siblings_out_until_it_ends_or_is_dropped() {
        let server = EmbeddedServer::start().unwrap();
        let client = client(&server).await;
        let guard = client.mutex("/a").unwrap().lock().await.unwrap();
        let siblings = async {
            let (end, ends) = oneshot::channel::<()>();
            let mut body = pin!(inside(&client).run(ends));
            assert!(poll!(&mut body).is_pending());
            assert!(Inside::enter(client.id(), "/a").is_none(), "a body is inside");
            end.send(()).unwrap();
            body.await.unwrap().unwrap();
            let mut body = Box::pin(inside(&client).run(pending::<()>()));
            assert!(poll!(&mut body).is_pending());
            drop(body);
            drop(inside(&client));
            inside(&client).run(async {}).await.unwrap();
        };
        guard.scope(siblings).await;
    }

    #[tokio::test]
    async fn a_task_of_the_body_keeps_siblings_out_after_the_body() {
        let server = EmbeddedServer::start().unwrap();
        let client = client(&server).await;
        let mutex = client.mutex("/a").unwrap();
        let guard = mutex.lock().await.unwrap();
        let siblings = async {
            let heir = inside(&client).run(async { inherit(mutex.lock()).await }).await;
            assert!(Inside::enter(client.id(), "/a").is_none(), "what the body has entered is left");
            drop(heir.unwrap().unwrap());
            drop(inside(&client));
        };
        guard.scope(siblings).await;
    }

    #[tokio::test]
    async fn a_body_that_outlives_the_hold_around_it_gives_the_lock_back() {
        let server = EmbeddedServer::start().unwrap();
        let (client, other) = (client(&server).await, client(&server).await);
        let stranger = other.mutex("/a").unwrap();
        let guard = client.mutex("/a").unwrap().lock().await.unwrap();
        let (end, ends) = oneshot::channel::<()>();
        let mut body = Box::pin(guard.scope(async { inside(&client) }).await.run(ends));
        assert!(poll!(&mut body).is_pending());
        guard.release().await.unwrap();
        assert!(stranger.try_lock().await.unwrap().is_none(), "the body holds the lock");
        end.send(()).unwrap();
        body.await.unwrap().unwrap();
        drop(stranger.lock().await.expect("the lock was given back"));
    }

    #[tokio::test]
    async fn a_body_takes_no_step_after_a_loss() {
        let server = EmbeddedServer::start().unwrap();
        let client = client(&server).await;
        let guard = client.mutex("/a").unwrap().lock().await.unwrap();
        let lost = async {
            let mut body = pin!(inside(&client).run(pending::<()>()));
            assert!(poll!(&mut body).is_pending());
            let node = guard.holds()[0].tenure().lose(LossReason::NodeDeleted);
            assert_eq!(node, LossReason::NodeDeleted);
            assert!(body.await.unwrap_err().is_lost());
        };
        guard.scope(lost).await;
    }
}

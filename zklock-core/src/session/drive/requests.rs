//! Sends the requests of an acquisition, and translates the answers into events of the state machine.

use futures_util::future::join;
use tokio_util::sync::CancellationToken;

use crate::error::Refusal;
use crate::queue::acquisition::{Action, Event, Replacement};
use crate::queue::contender::Contender;
use crate::queue::predicate::{GATE, LEASES, Role};
use crate::session::own_node::has_others;
use crate::session::request_error::RequestError;
use crate::session::requests::Children;

use super::Driver;

impl Driver {
    /// Performs the next action, unless the attempt is cancelled before it has begun.
    pub(super) async fn proceed(&mut self, cancel: &CancellationToken) {
        let (session, count) = (self.session.clone(), self.request_count());
        if let Some(permit) = cancel.run_until_cancelled(session.bounds().requests(count)).await {
            // Boxed, because most of the time of a contender passes between its requests.
            let event = Box::pin(self.perform(self.action.clone())).await;
            // A pause may follow.
            drop(permit);
            self.feed(event).await;
        }
    }

    /// Returns how many requests of the next action are under way at the same time.
    fn request_count(&mut self) -> u32 {
        // A shared number of permits is read together with a list.
        let counts = u32::from(self.counter.is_some());
        match self.action {
            Action::Enter(_) => self.choose_way().requests() + counts,
            Action::List => 1 + counts,
            Action::Locate(_) => 2,
            _ => 1,
        }
    }

    async fn perform(&mut self, action: Action) -> Event {
        match action {
            Action::Enter(id) => self.enter(id).await,
            Action::Prepare => self.prepare().await,
            Action::Locate(id) => self.locate(id).await,
            Action::List => self.list().await,
            Action::Delete(names) => self.delete(names).await,
            Action::Downgrade(replacement) => self.replace(replacement).await,
            Action::Watch(_) | Action::Hold(_) | Action::Finish(_) => Event::Unknown,
        }
    }

    async fn list(&mut self) -> Event {
        self.renew_connection();
        let (session, path) = (self.session.clone(), self.path.clone());
        let list = session.requests().list_for(self.machine.predicate().role(), path.full());
        let (listed, counted) = self.with_count(list).await;
        if let Err(error) = counted {
            return self.count_failed(error);
        }
        match listed {
            Ok(children) => self.check_list(children).await,
            Err(error) => self.failed(error),
        }
    }

    pub(super) fn renew_connection(&mut self) {
        let connection = self.session.link().connection;
        (self.connection, self.listed) = (connection, connection);
    }

    /// Lists the queue by `list`, and learns the number of permits at that time or later, if it is shared.
    ///
    /// A contender that may hold the lock by that number and that list keeps its turn, because later contenders are
    /// behind it.
    pub(super) async fn with_count<T>(
        &mut self,
        list: impl Future<Output = T>,
    ) -> (T, Result<(), RequestError>) {
        let Some(counter) = &self.counter else {
            return (list.await, Ok(()));
        };
        // The read is issued behind the list, so that the number is not older.
        let (listed, count) = join(list, counter.read(self.session.requests())).await;
        let counted = count.map(|count| {
            // No action follows, because the contender does not wait.
            self.machine.on(Event::Permits(count));
        });
        (listed, counted)
    }

    async fn delete(&mut self, names: Vec<String>) -> Event {
        for name in &*names {
            let issued = || {
                // Other nodes than those of a contender that leaves are left from its earlier attempts.
                if self.machine.node().is_none() {
                    self.own_node.note(|news| news.is_leaving = true);
                }
            };
            let path = self.path.child(name);
            if let Err(error) = self.session.requests().delete_and_tell(&path, issued).await {
                return self.failed(error);
            }
        }
        if self.may_skip_list {
            self.session.queues.prove(&self.path, self.connection);
        }
        Event::Deleted
    }

    /// Replaces the node. Data that others wrote into it, such as a request to release, is copied
    /// to the new node.
    async fn replace(&mut self, replacement: Replacement) -> Event {
        let Replacement { old, new } = replacement;
        let (from, to) = (self.path.child(&old.name), self.path.child(&new));
        let session = self.session.clone();
        let (mut data, mut version) = (self.data.as_bytes().to_vec(), 0);
        loop {
            let error = match session.requests().replace(&from, version, (&to, &data)).await {
                Ok(()) => return Event::Downgraded(new),
                Err(RequestError::NoNode) => return Event::OwnNodeGone,
                Err(RequestError::Refused(Refusal::BadVersion)) => match session.requests().read(&from).await
                {
                    Ok(Some(read)) => {
                        (data, version) = (read.data, read.stat.version);
                        continue;
                    }
                    Ok(None) => return Event::OwnNodeGone,
                    Err(error) => error,
                },
                Err(error) => error,
            };
            return self.failed(error);
        }
    }

    /// Reports the list of children, or refuses the path if it is that of a semaphore in use.
    ///
    /// The permits of a semaphore are nodes one level further down, which a contender here would not exclude.
    /// The check is made once, so that it does not disturb a contender that was here before the semaphore.
    async fn check_list(&mut self, children: Children) -> Event {
        let own = self.machine.node().map(|node| node.name.clone());
        let names = self.listed(children, own.as_deref().unwrap_or_default());
        let unlisted = own.filter(|own| !names.iter().any(|name| **name == **own));
        let is_listed = unlisted.is_none();
        if let Some(own) = unlisted
            && let Err(error) = self.delete_unlisted(&own).await
        {
            return self.failed(error);
        }
        if self.is_suspicious(&names) {
            match self.session.requests().names(&self.path.child(LEASES)).await {
                Ok(permits) if permits.iter().any(|name| is_permit(name)) => {
                    self.refusal = Some(Box::new(self.mixed_with(Role::Permit)));
                    return Event::Refused;
                }
                Ok(_) => {}
                Err(error) => return self.failed(error),
            }
        }
        // A contender that is not in the list enters again, perhaps at a path that others use by then.
        self.is_settled |= is_listed;
        Event::Listed(names)
    }

    /// Deletes the own node if it exists although the list of its queue lacks it.
    async fn delete_unlisted(&self, own: &str) -> Result<(), RequestError> {
        let own = self.path.child(own);
        if self.session.is_unlisted(&own).await? {
            self.session.requests().delete(&own).await?;
        }
        Ok(())
    }

    pub(super) fn is_suspicious(&self, children: &[String]) -> bool {
        !self.is_settled && self.machine.predicate().role() != Role::Permit && are_of_a_semaphore(children)
    }

    pub(super) fn listed(&mut self, children: Children, own: &str) -> Vec<String> {
        self.has_others = has_others(&children.names, own);
        if are_of_a_semaphore(&children.names) {
            // The permits are one level further down, where the numbers of this level say nothing.
            self.may_skip_list = false;
        }
        self.children = children.watch;
        if self.is_settled {
            return children.names;
        }
        let patterns = self.machine.predicate().also_behind();
        let is_stranger = |name: &&String| Contender::parse_any(name, patterns).is_none();
        if let Some(stranger) = children.names.iter().find(is_stranger) {
            self.session.note_stranger(self.path.full(), stranger);
        }
        children.names
    }

    pub(super) fn failed(&mut self, error: RequestError) -> Event {
        self.failed_at(&self.place(), error)
    }

    pub(super) fn failed_at(&mut self, path: &str, error: RequestError) -> Event {
        match error {
            RequestError::Unknown(reason) => {
                tracing::debug!(path, reason, "request unanswered");
                Event::Unknown
            }
            RequestError::SessionOver => Event::SessionLost,
            refused => {
                self.refusal.get_or_insert_with(|| Box::new(refused.into_error(path)));
                Event::Refused
            }
        }
    }
}

fn are_of_a_semaphore(children: &[String]) -> bool {
    [GATE, LEASES].iter().all(|name| children.iter().any(|child| child == name))
}

fn is_permit(name: &str) -> bool {
    Contender::parse(name).is_some_and(|contender| contender.role == Role::Permit)
}

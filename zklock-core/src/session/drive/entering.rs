//! Creates contenders, in the way that what is known of the queue allows, and finds those whose creation had an unknown
//! outcome, also after they have left. See `session::queues`.

use std::sync::Arc;
use std::time::Duration;

use crate::error::Refusal;
use crate::path::NodePath;
use crate::queue::acquisition::{Event, Node, Sight};
use crate::queue::contender::ContenderId;
use crate::session::Session;
use crate::session::clock::Instant;
use crate::session::queues::Way;
use crate::session::request_error::RequestError;
use crate::session::requests::{Children, Entry, NewNode, Watched};
use crate::time::timeout;

use super::Driver;

impl Driver {
    /// Decides how the contender enters its queue next.
    pub(super) fn choose_way(&mut self) -> Way {
        let is_missing = self.way == Way::CreateQueue;
        self.way = match self.may_skip_list {
            true => self.session.queues.way(&self.path, self.session.link().connection, is_missing),
            false => Way::List,
        };
        self.way
    }

    /// Creates what is missing above the contender. The queue itself is created with it, if that is permitted.
    pub(super) async fn prepare(&mut self) -> Event {
        let session = self.session.clone();
        let made = match self.way {
            Way::CreateQueue => session.requests().prepare_parents(self.path.parent()).await,
            _ if self.may_skip_list && !session.queues.is_closed(&self.path) => {
                self.way = Way::CreateQueue;
                return Event::Prepared;
            }
            _ => session.requests().prepare(&self.lock, self.path.full()).await,
        };
        match made {
            // If an ancestor vanished meanwhile, entering fails and the parents are created again.
            Ok(()) | Err(RequestError::NoNode) => Event::Prepared,
            Err(error) => self.failed(error),
        }
    }

    pub(super) async fn enter(&mut self, id: ContenderId) -> Event {
        let event = self.create(id).await;
        if let Event::Entered(node, _) = &event
            && node.owner != self.session.id()
        {
            tracing::warn!(path = %self.path, "the server replaced the session by another one");
            self.session.give_up();
        }
        event
    }

    async fn create(&mut self, id: ContenderId) -> Event {
        self.set_out();
        let (session, path, data) = (self.session.clone(), self.path.clone(), self.data.clone());
        let role = self.machine.predicate().role();
        let prefix = id.node_path(path.full(), role);
        let new = NewNode { dir: path.full(), path: &prefix, role, data: data.as_bytes() };
        if self.counted == 0 {
            let bytes = prefix.len() + DIGITS;
            if let Err(refusal) = session.bounds().add_node(bytes) {
                return self.failed(RequestError::Refused(refusal));
            }
            self.counted = bytes;
        }
        if self.way == Way::CreateQueue {
            let created = session.requests().create_queue(new).await;
            return self.queue_created(created);
        }
        let (entered, counted) = self.with_count(session.requests().enter(new, self.way)).await;
        match entered {
            Ok(entry) if counted.is_ok() => self.arrived(entry),
            // The list is repeated, with the number.
            Ok(entry) => self.arrived(Entry { children: None, ..entry }),
            Err(RequestError::NoNode) => {
                self.session.queues.forget(&self.path, self.connection);
                Event::ParentMissing
            }
            Err(error) => self.failed(error),
        }
    }

    /// Prepares to create a contender.
    pub(super) fn set_out(&mut self) {
        (self.has_others, self.watch) = (false, None);
        self.own_node = Arc::default();
        self.renew_connection();
    }

    pub(super) async fn locate(&mut self, id: ContenderId) -> Event {
        let session = self.session.clone();
        match session.requests().locate(self.path.full(), id).await {
            Ok(nodes) => Event::Located(nodes),
            Err(error) => self.failed(error),
        }
    }

    fn queue_created(&mut self, created: Result<Node, RequestError>) -> Event {
        let (queues, path) = (&self.session.queues, &self.path);
        match created {
            Ok(node) => {
                queues.queue_created(path, self.connection);
                self.is_settled = true;
                Event::Entered(node, Sight::Alone)
            }
            Err(RequestError::NoNode) => Event::ParentMissing,
            Err(RequestError::Refused(Refusal::NodeExists)) => {
                queues.note_occupied(path, self.connection);
                Event::QueueExists
            }
            // This client may not do so below this parent, the paths there are too long for a transaction, or the server
            // does not know the requests. Another refusal is met again, and told, on the other way.
            Err(RequestError::Denied(_) | RequestError::Refused(_)) => {
                queues.close(path, self.connection);
                Event::QueueExists
            }
            Err(error) => self.failed(error),
        }
    }

    /// Translates the answers to a create and the requests sent with it.
    fn arrived(&mut self, entry: Entry) -> Event {
        let Entry { node, children, queue } = entry;
        self.note_queue(&node, queue);
        let sight = match self.way {
            Way::After(last, watch) if self.watch == Some(watch) => Sight::After(last),
            Way::After(..) => Sight::Nothing,
            _ => self.among(&node, children),
        };
        Event::Entered(node, sight)
    }

    /// Notes that the queue exists, and which watch tells of its end, now that the answer to the create is there.
    fn note_queue(&mut self, own: &Node, queue: Option<Watched>) {
        let queues = &self.session.queues;
        // A queue's node that is older than the own one was there all the time: it has a child.
        match queue.filter(|queue| queue.read.stat.czxid < own.zxid) {
            Some(queue) => queues.keep(&self.path, self.connection, queue.watch),
            None => queues.prove(&self.path, self.connection),
        }
        self.watch = queues.watch(&self.path, self.session.link().connection);
    }

    fn among(&mut self, own: &Node, children: Option<Children>) -> Sight {
        let children = children.map(|children| self.listed(children, &own.name));
        // If this may be a semaphore, or the own node is missing, the list is repeated on its own, and `check_list`
        // checks it.
        let children = children
            .filter(|names| !self.is_suspicious(names) && names.iter().any(|name| **name == *own.name));
        self.is_settled |= children.is_some();
        children.map_or(Sight::Nothing, Sight::Listed)
    }

    /// Notes the number of the contender, if that was first and is certainly deleted.
    pub(super) fn leave_number(&self) {
        let number = self.machine.last_number().filter(|_| self.may_skip_list);
        if let (Some(number), Some(watch)) = (number, self.watch) {
            self.session.queues.leave(&self.path, self.connection, (number, watch));
        }
    }
}

impl Session {
    /// Looks for nodes that a server creates after their contender has left, again and again for [`LATE`], and deletes them.
    ///
    /// A server that stood still may have two messages of the client when it goes on: a create on an old connection, and an
    /// attempt to connect that the client has given up since. The attempt moves the session to this server, so that the
    /// leader does not refuse the create as one of an earlier server (`SessionTrackerImpl.checkSession`), although a
    /// transaction on the present connection has been committed before. The next transaction on the present connection is
    /// refused then, and the connection breaks. One that is committed on the connection after that shows the node to the
    /// list behind it.
    pub(super) fn remove_late(self: &Arc<Self>, queue: NodePath, id: ContenderId) {
        let session = self.clone();
        self.spawn(async move { session.until_over(session.look_for_late(&queue, id)).await });
    }

    async fn look_for_late(&self, queue: &NodePath, id: ContenderId) {
        let (since, mut pause) = (Instant::now(), FIRST_PAUSE);
        let (mut links, mut connection) = (self.links(), self.link().connection);
        loop {
            let next = links.wait_for(|link| link.connection != connection);
            let is_quiet = timeout(pause, next).await.is_err();
            // Before the look, so that another connection behind it is noticed.
            connection = links.borrow_and_update().connection;
            let is_last = since.elapsed() >= LATE;
            match self.delete_all(queue, id).await {
                Err(RequestError::Unknown(_)) => {}
                _ if is_last => return,
                _ if is_quiet => pause = (pause * 2).min(LONGEST_LOOK_PAUSE),
                _ => {}
            }
        }
    }

    async fn delete_all(&self, queue: &NodePath, id: ContenderId) -> Result<(), RequestError> {
        let _permit = self.bounds().requests(2).await;
        for node in self.requests().locate(queue.full(), id).await? {
            tracing::warn!(path = %queue, node = node.name, "a server created a node late");
            self.requests().delete(&queue.child(&node.name)).await?;
        }
        Ok(())
    }
}

/// The length of the number that servers append to the name of a contender.
const DIGITS: usize = 10;
/// The time for which late nodes are looked for. A leader gives up a server that stands still for longer than the sync limit, by
/// default 10 s, and that server closes its connections then.
const LATE: Duration = Duration::from_secs(120);
/// The pause before the first look, which later ones double. A new connection ends it.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The longest pause between two looks.
const LONGEST_LOOK_PAUSE: Duration = Duration::from_secs(16);

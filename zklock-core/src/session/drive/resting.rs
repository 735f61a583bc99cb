//! A contender that holds its lock and has nothing to do, in a form that takes little memory.

use std::sync::Arc;

use crate::path::NodePath;
use crate::queue::acquisition::{Action, Seated};
use crate::queue::contender::Name;
use crate::session::Session;
use crate::session::queues::{WatchId, Way};
use crate::session::sentry::{Seen, Sentry};

use super::{Driver, Numbers, SHORTEST_PAUSE};

/// A contender that holds its lock, and had no watch when it was last put to rest. Its lease has the rest.
pub(crate) struct Resting {
    /// The data of the contender's node.
    data: Arc<Vec<u8>>,
    acquisition: Seated,
    /// The version of the data of the contender's node.
    version: i32,
    /// The bytes of the contender's path that the session counts.
    counted: usize,
    /// The watch on the queue's node under which the contender's node exists.
    watch: Option<WatchId>,
    numbers: Numbers,
}

impl Driver {
    /// Returns the small form of this contender, or `None` if that would leave something out.
    pub(crate) fn resting(&mut self) -> Option<Resting> {
        let is_watched = self.children.is_some();
        let has_more = self.counter.is_some() || self.refusal.is_some();
        if is_watched || has_more {
            return None;
        }
        let acquisition = self.machine.seated()?;
        let Self { data, version, counted, watch, numbers, .. } = &*self;
        let (data, version, watch, numbers) = (data.clone(), *version, *watch, *numbers);
        let counted = *counted;
        Some(Resting { data, acquisition, version, counted, watch, numbers })
    }
}

impl Resting {
    /// Returns the driver of this contender, which does not enter a queue again. Its node is in this queue, was created
    /// in this session, and has this name and this zxid.
    pub(crate) fn rise(
        self,
        session: Arc<Session>,
        queue: NodePath,
        (sentry, node): (Arc<Sentry>, (&Name, i64)),
    ) -> Driver {
        let Self { data, acquisition, version, counted, watch, numbers } = self;
        let (machine, node) = acquisition.rise(session.id(), node);
        Driver {
            connection: session.link().connection,
            session,
            // Only a contender that enters needs the path above its queue.
            lock: queue.clone(),
            path: queue,
            data,
            counter: None,
            machine,
            action: Action::Hold(node),
            refusal: None,
            children: None,
            seen: Seen::Unwatched,
            names: 0,
            sentry,
            has_entered: true,
            counted,
            way: Way::List,
            watch,
            version,
            numbers,
            is_settled: true,
            pause: SHORTEST_PAUSE,
        }
    }
}

//! Contenders that a test performs instead of the servers.

use std::cell::RefCell;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::client::worker::Worker;
use crate::path::NodePath;
use crate::session::drive::Contention;

use super::request::{Contending, Listener, Wanted};

/// The servers of a test, for all clients of one thread.
pub(crate) trait Stage {
    /// Does the same as [`contend`](super::contend).
    fn contend(
        &self,
        cancel: CancellationToken,
        place: (&Arc<Worker>, &NodePath),
        wanted: (&Wanted, Contention),
        listener: Listener,
    ) -> Contending;
}

thread_local! {
    static CURRENT: RefCell<Option<Arc<dyn Stage>>> = const { RefCell::new(None) };
}

/// The time for which a stage performs the contenders of this thread. It ends when this is dropped.
#[must_use = "the stage is left at once"]
pub(crate) struct Entered;

/// Lets this stage perform the contenders of this thread.
pub(crate) fn enter(stage: Arc<dyn Stage>) -> Entered {
    CURRENT.set(Some(stage));
    Entered
}

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.take();
    }
}

/// Returns the stage of this thread.
pub(super) fn current() -> Option<Arc<dyn Stage>> {
    CURRENT.with_borrow(Clone::clone)
}

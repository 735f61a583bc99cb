//! Signals to look at a node or at a list of children again.

use std::convert::Infallible;
use std::future::{pending, ready};
use std::pin::Pin;

use futures_util::FutureExt;
use zookeeper_client as zk;

use super::connection::Live;

/// The change that fired a watch, as far as anybody wants to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// The watched node was deleted.
    Deleted,
    /// Anything else. The node may have been deleted as well.
    Other,
    /// The connection is over, and the watch with it.
    Disconnected,
}

/// A signal to look at a node or at a list of children again. It belongs to one connection, and fires at its end.
pub(crate) struct Watch(Pin<Box<dyn Future<Output = Change> + Send + Sync>>);

impl Watch {
    /// Returns a watch of the client library, which panics if it is polled after the end of the connection.
    pub(super) fn of(watcher: zk::OneshotWatcher, connection: &Live) -> Self {
        let over = connection.over().clone();
        Self(Box::pin(async move {
            tokio::select! {
                biased;
                () = over.cancelled() => Change::Disconnected,
                event = watcher.changed() => match event.event_type {
                    zk::EventType::NodeDeleted => Change::Deleted,
                    _ => Change::Other,
                },
            }
        }))
    }

    /// Returns a watch that fires when this is done.
    #[cfg(test)]
    pub(super) fn when(fires: impl Future<Output = ()> + Send + Sync + 'static) -> Self {
        Self(Box::pin(fires.map(|()| Change::Other)))
    }

    /// Returns this watch, which keeps another one until it fires.
    pub(crate) fn keeping(self, other: Option<Self>) -> Self {
        Self(Box::pin(self.0.map(move |change| {
            drop(other);
            change
        })))
    }

    /// Returns a watch that has fired.
    pub(crate) fn fired() -> Self {
        Self(Box::pin(ready(Change::Other)))
    }

    /// Waits for the change. After that, it must not be asked again.
    pub(crate) async fn change(&mut self) -> Change {
        (&mut self.0).await
    }

    /// Tells whether the watch has fired. After that, it must not be asked again.
    pub(crate) fn has_fired(&mut self) -> bool {
        (&mut self.0).now_or_never().is_some()
    }

    /// Drops a watch when it fires. Never resolves.
    pub(crate) async fn spend(watch: &mut Option<Self>) -> Infallible {
        if let Some(fires) = watch {
            fires.change().await;
            *watch = None;
        }
        pending().await
    }
}

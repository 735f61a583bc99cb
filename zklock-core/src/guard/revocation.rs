//! The callbacks for requests of other clients to release a lock.

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::select_all;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::lease::Lease;

/// The callbacks of a guard. The guard owns them, or the thread that calls one, so that no thread of the client drops one.
#[derive(Default)]
pub(super) struct Callbacks(Mutex<Vec<(Arc<Callback>, DropGuard)>>);

/// It is called at most once.
type Callback = Mutex<Option<Box<dyn FnOnce() + Send>>>;

impl Callbacks {
    /// Keeps a callback until the guard ends. Returns the task that has it called on a new thread when somebody asks for the
    /// release of one of these locks.
    pub(super) fn keep(
        &self,
        callback: Box<dyn FnOnce() + Send>,
        leases: Vec<Arc<Lease>>,
    ) -> impl Future<Output = ()> + Send + use<> {
        let callback: Arc<Callback> = Arc::new(Mutex::new(Some(callback)));
        let (called, ended) = (Arc::downgrade(&callback), CancellationToken::new());
        let kept = (callback, ended.clone().drop_guard());
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(kept);
        async move {
            // A request to any one of several nodes counts for all of them; their holds end together.
            let asked = select_all(leases.iter().map(|lease| Box::pin(lease.asked_before_release())));
            let is_asked = tokio::select! {
                biased;
                () = ended.cancelled() => false,
                (is_asked, ..) = asked => is_asked,
            };
            if is_asked {
                // The guard drops a callback whose thread comes too late.
                let call = move || called.upgrade().iter().for_each(|callback| call(callback));
                let started = std::thread::Builder::new().name("zklock-revoked".into()).spawn(call);
                if let Err(error) = started {
                    tracing::warn!(%error, "cannot start the thread of a revocation callback");
                }
            }
        }
    }
}

fn call(callback: &Callback) {
    let callback = callback.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(callback) = callback {
        callback();
    }
}

//! Clients without a thread.

use std::sync::Arc;

use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use super::config::Config;
use super::worker::Worker;

impl Config {
    /// Returns the worker of a client without a thread.
    pub(crate) fn staged(self, runtime: Handle) -> Arc<Worker> {
        let settings = self.validated().expect("a valid configuration");
        Arc::new(Worker::new(settings, runtime, CancellationToken::new()))
    }
}

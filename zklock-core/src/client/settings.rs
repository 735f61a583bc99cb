//! The settings of a client: a configuration that has been validated.

use std::sync::Arc;
use std::time::Duration;

use crate::session::Opening;

use super::long_waits::LongWaits;
use super::queueing::{Queueing, Release};

/// A configuration that has been validated.
#[derive(Clone)]
pub(crate) struct Settings {
    pub(crate) opening: Opening,
    /// The chroot and the namespace: the prefix of every path.
    pub(crate) root: String,
    pub(crate) default_wait: Duration,
    pub(crate) identity: Arc<str>,
    pub(crate) queueing: Queueing,
    pub(crate) release: Release,
    pub(crate) long_waits: Arc<LongWaits>,
}

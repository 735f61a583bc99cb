//! A configuration that was found valid.

use std::time::Duration;

use crate::session::Opening;

/// A configuration that was found valid.
#[derive(Clone)]
pub(crate) struct Settings {
    pub(crate) opening: Opening,
    /// Chroot and namespace, in front of every path.
    pub(crate) root: String,
    pub(crate) default_wait: Duration,
    pub(crate) identity: String,
}

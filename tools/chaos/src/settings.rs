//! The settings that the servers and all processes have in common. Uses no other module.

use std::time::Duration;

/// The namespace of all locks and data of a campaign.
pub(crate) const NAMESPACE: &str = "/chaos";
/// The session timeout, so short that many locks are lost.
pub(crate) const SESSION: Duration = Duration::from_secs(5);
/// The `tickTime` of the servers.
pub(crate) const TICK: Duration = Duration::from_millis(500);
/// The `syncLimit` of the servers.
pub(crate) const SYNC_LIMIT: u32 = 5;
/// The longest wait for a lock, and for the answer to any other request.
pub(crate) const WAIT: Duration = Duration::from_secs(8);
/// The time between two looks of the servers for empty containers, in milliseconds.
pub(crate) const CONTAINERS_MS: &str = "3000";

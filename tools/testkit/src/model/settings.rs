//! The settings of a server.

use std::time::Duration;

/// The settings of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settings {
    /// ZooKeeper's `tickTime`, at least 1 ms; sessions expire at multiples of it.
    pub tick_time: Duration,
    /// The shortest session timeout that the server grants; two ticks if not set.
    pub min_session_timeout: Option<Duration>,
    /// The longest session timeout that the server grants; twenty ticks if not set.
    pub max_session_timeout: Option<Duration>,
    /// The interval between deletions of used-up containers: `znode.container.checkIntervalMs`.
    ///
    /// A container is used up if it had children and has none left.
    ///
    /// Nodes that have outlived their time to live are deleted at the same times.
    pub container_check_interval: Duration,
    /// Whether clients may create nodes with a time to live: `zookeeper.extendedTypesEnabled`, which is off by default.
    pub ttl_nodes: bool,
    /// The digest of the superuser, who may do everything: `USER:BASE64(SHA1(USER:PASSWORD))`. There is none if
    /// it is not set: `zookeeper.DigestAuthenticationProvider.superDigest`.
    pub super_digest: Option<String>,
}

impl Default for Settings {
    /// Returns ZooKeeper's defaults, such as a tick of two seconds.
    fn default() -> Self {
        Self {
            tick_time: Duration::from_secs(2),
            min_session_timeout: None,
            max_session_timeout: None,
            container_check_interval: Duration::from_secs(60),
            ttl_nodes: false,
            super_digest: None,
        }
    }
}

impl Settings {
    /// Returns the tick in milliseconds.
    pub(super) fn tick(&self) -> i64 {
        whole_millis(self.tick_time).max(1)
    }

    /// Returns the interval between checks of the containers, in milliseconds.
    pub(super) fn container_check(&self) -> i64 {
        whole_millis(self.container_check_interval).max(1)
    }

    /// Returns the timeout that a client gets if it requests `asked`, both in milliseconds.
    pub(crate) fn negotiate(&self, asked: i32) -> i32 {
        let ticks = |count| self.tick().saturating_mul(count);
        let least = self.min_session_timeout.map_or_else(|| ticks(2), whole_millis);
        let greatest = self.max_session_timeout.map_or_else(|| ticks(20), whole_millis);
        i64::from(asked).max(least).min(greatest).try_into().unwrap_or(i32::MAX)
    }
}

fn whole_millis(time: Duration) -> i64 {
    time.as_millis().try_into().unwrap_or(i64::MAX)
}

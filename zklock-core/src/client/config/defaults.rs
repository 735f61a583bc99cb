//! The default values of settings.

use std::time::Duration;

use uuid::Uuid;

pub(super) const fn session_timeout() -> Duration {
    Duration::from_secs(30)
}

pub(super) const fn default_wait() -> Duration {
    Duration::from_secs(10)
}

pub(super) const fn connect_timeout() -> Duration {
    Duration::from_secs(10)
}

pub(super) const fn warn_after() -> Duration {
    Duration::from_secs(30)
}

pub(super) const fn tick_time() -> Duration {
    Duration::from_secs(2)
}

pub(super) const fn sync_limit() -> Duration {
    Duration::from_secs(10)
}

/// The random part distinguishes processes in containers, which may share the host name and the process id.
pub(super) fn identity() -> String {
    let (host, random) = (gethostname::gethostname(), Uuid::new_v4().as_u64_pair().0 >> 32);
    format!("{}/{}/{random:08x}", host.to_string_lossy(), std::process::id())
}

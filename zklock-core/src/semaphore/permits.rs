//! The number of permits of a semaphore.

use crate::acquire::Count;
use crate::error::LockError;
use crate::path::NodePath;

/// The number of permits of a semaphore.
///
/// A plain number, such as `3`, must be the same for all participants; see
/// [`Client::semaphore`](crate::Client::semaphore).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permits(Source);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Source {
    Given(u32),
    Shared { path: String, seed: u32 },
}

impl Permits {
    /// Uses the number in the node at `path`, below the client's namespace, which can change at any time.
    ///
    /// The node is that of Curator's `SharedCount`, and is created with `seed` if it is missing. When the
    /// number rises, waiters get the new permits. When it falls, holders keep the permits that they have, and
    /// their clients pass them on within the bounds of [`Queueing`](crate::Queueing).
    pub fn shared(path: impl Into<String>, seed: u32) -> Self {
        Self(Source::Shared { path: path.into(), seed })
    }

    /// Returns the number for the semaphore at `path`, where the paths of a client begin at `root`.
    pub(super) fn into_count(self, path: &NodePath, root: &str) -> Result<Count, LockError> {
        match self.0 {
            Source::Given(0) => Err(invalid(path, 0, "a semaphore needs at least one permit")),
            Source::Given(permits) => Ok(Count::Agreed(permits)),
            Source::Shared { seed, .. } if i32::try_from(seed).is_err() => Err(invalid(path, seed, TOO_MANY)),
            Source::Shared { path, seed } => Ok(Count::Shared { path: NodePath::new(root, &path)?, seed }),
        }
    }
}

impl From<u32> for Permits {
    fn from(permits: u32) -> Self {
        Self(Source::Given(permits))
    }
}

pub(super) fn invalid(path: &NodePath, wanted: u32, reason: &str) -> LockError {
    LockError::InvalidPermits { path: path.relative().to_owned(), wanted, reason: reason.to_owned() }
}

/// The reason for refusing a shared number: Java reads it as signed.
pub(super) const TOO_MANY: &str = "a shared number must fit in a signed 32-bit integer";

//! The ways in which generated code enters a mutex again.

use crate::client::ClientId;
use crate::error::LockError;
use crate::hold::{self, Entry, Inside, Sought, Taken};

use super::MutexGuard;

impl ClientId {
    /// Enters the mutex at this path again if the current call holds it and nothing is in the way, to run a
    /// body at once.
    #[doc(hidden)]
    #[inline]
    pub fn mutex_again(self, path: &str) -> Option<MutexGuard> {
        hold::enter_again_to_run(Sought::new(self, path, Entry::Mutex)).map(MutexGuard::new)
    }

    /// Enters the mutex at this path as [`mutex_again`](Self::mutex_again) does, without a guard.
    #[doc(hidden)]
    #[inline]
    pub fn mutex_inside(self, path: &str) -> Option<MutexInside> {
        Inside::enter(self, path).map(MutexInside)
    }
}

/// A mutex that generated code has entered again without a guard.
#[doc(hidden)]
#[derive(Debug)]
pub struct MutexInside(Inside);

/// A mutex that generated code holds without a guard.
#[doc(hidden)]
#[derive(Debug)]
pub struct TakenMutex(Taken);

impl TakenMutex {
    /// Runs a body as [`run_at_once`](crate::Guard::run_at_once) does, and then releases the mutex as [`finish`](crate::Guard::finish)
    /// does.
    #[inline]
    pub fn run<F: Future>(self, body: F) -> impl Future<Output = Result<F::Output, LockError>> + use<F> {
        self.0.run(body)
    }
}

impl From<MutexInside> for TakenMutex {
    #[inline]
    fn from(MutexInside(inside): MutexInside) -> Self {
        Self(Taken::Again(inside))
    }
}

impl From<MutexGuard> for TakenMutex {
    fn from(guard: MutexGuard) -> Self {
        Self(Taken::First(Box::new(guard.into_holds())))
    }
}

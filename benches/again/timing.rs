//! The time and the allocations of one call.

use std::fmt;
use std::hint::black_box;
use std::ops::Sub;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use allocation_counter::{AllocationInfo, measure};
use zklock::LockError;

use crate::program::Failure;

/// The numbers of calls to measure.
pub(crate) struct Timing {
    pub(crate) batches: u32,
    pub(crate) calls: u32,
}

/// The cost of one call.
#[derive(Clone, Copy)]
pub(crate) struct Cost {
    nanoseconds: f64,
    allocations: f64,
    bytes: f64,
}

impl Timing {
    /// Returns the cost of a call that never waits.
    pub(crate) fn cost<T>(&self, call: impl AsyncFn() -> Result<T, LockError>) -> Result<Cost, Failure> {
        let (mut fastest, mut allocated) = (f64::INFINITY, Err("no call was measured".into()));
        for _ in 0..self.batches {
            let start = Instant::now();
            let mut outcome = Err("no call was made".into());
            let counted = measure(|| outcome = self.batch(&call));
            outcome?;
            fastest = fastest.min(start.elapsed().as_nanos() as f64);
            allocated = Ok::<_, Failure>(counted);
        }
        let AllocationInfo { count_total, bytes_total, .. } = allocated?;
        let [nanoseconds, allocations, bytes] =
            [fastest, count_total as f64, bytes_total as f64].map(|all| all / f64::from(self.calls));
        Ok(Cost { nanoseconds, allocations, bytes })
    }

    /// Makes the calls of one batch in one step of this thread.
    fn batch<T>(&self, call: &impl AsyncFn() -> Result<T, LockError>) -> Result<(), Failure> {
        let calls = pin!(async {
            for _ in 0..self.calls {
                black_box(call().await?);
            }
            Ok::<_, LockError>(())
        });
        match calls.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(outcome) => Ok(outcome?),
            Poll::Pending => Err("a call waited".into()),
        }
    }
}

impl Sub for Cost {
    type Output = Self;

    fn sub(self, less: Self) -> Self {
        Self {
            nanoseconds: self.nanoseconds - less.nanoseconds,
            allocations: self.allocations - less.allocations,
            bytes: self.bytes - less.bytes,
        }
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { nanoseconds, allocations, bytes } = self;
        write!(f, "ns={nanoseconds:.1} allocations={allocations:.2} bytes={bytes:.0}")
    }
}

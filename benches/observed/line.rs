//! A line of calls in which one call passes the lock on to the next.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use zklock::{LockError, Mutex, MutexGuard};

type Call = Pin<Box<dyn Future<Output = Result<MutexGuard, LockError>>>>;

/// Calls of this thread that pass a lock on. At least one of them always waits, so that the client's task does not end.
pub(crate) struct Line {
    mutex: Mutex,
    held: Option<MutexGuard>,
    waiting: VecDeque<Call>,
}

impl Line {
    pub(crate) async fn start(mutex: Mutex) -> Result<Self, LockError> {
        let held = Some(mutex.lock().await?);
        let mut line = Self { mutex, held, waiting: VecDeque::new() };
        line.join();
        Ok(line)
    }

    /// Puts another call into the line.
    fn join(&mut self) {
        let mutex = self.mutex.clone();
        let mut call: Call = Box::pin(async move { mutex.lock_timeout(Duration::MAX).await });
        let polled = call.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(polled.is_pending(), "others are in front");
        self.waiting.push_back(call);
    }

    /// Makes a call, and gives the lock to the one that has waited for the longest time. Returns whether that one has it
    /// at once.
    pub(crate) fn pass(&mut self) -> Result<bool, LockError> {
        self.join();
        drop(self.held.take());
        let next = self.waiting.front_mut().expect("two calls wait");
        let Poll::Ready(guard) = next.as_mut().poll(&mut Context::from_waker(Waker::noop())) else {
            return Ok(false);
        };
        self.held = Some(guard?);
        self.waiting.pop_front();
        Ok(true)
    }

    /// Waits for the lock after a pass that was not at once.
    pub(crate) async fn settle(&mut self) -> Result<(), LockError> {
        if self.held.is_none() {
            let next = self.waiting.pop_front().expect("a call waits");
            self.held = Some(next.await?);
        }
        Ok(())
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        // The calls that still wait give up before the lock is given back.
        self.waiting.clear();
    }
}

//! Methods with every receiver.

use core::future::Future;
use core::pin::Pin;
use std::sync::Arc;

use tokio::task::yield_now;
use zklock::{Client, LockError, distributed_lock, leader_only};

/// A ledger.
#[derive(Debug)]
pub struct Ledger<T> {
    /// The entries.
    entries: Vec<T>,
    /// The client of its locks.
    locks: Client,
    /// The name.
    name: String,
}

impl<T: Clone + Send + Sync> Ledger<T> {
    /// A part of paths.
    const KIND: &'static str = "ledger";

    /// # Errors
    #[distributed_lock(path = "/{Self::KIND}/{self.name}", client = self.locks)]
    pub async fn add(&mut self, entry: T) -> Result<&mut Self, LockError> {
        yield_now().await;
        self.entries.push(entry);
        Ok(self)
    }

    /// # Errors
    #[distributed_lock(path = "/{Self::KIND}/{self.name}")]
    pub fn add_blocking(&mut self, entry: T) -> Result<&mut Self, LockError> {
        self.entries.push(entry);
        Ok(self)
    }

    /// # Errors
    #[distributed_lock(path = "/{Self::KIND}/{self.name}", mode = read, guard = held)]
    pub async fn first(&self) -> Result<Option<&T>, LockError> {
        held.verify().await?;
        Ok(self.entries.first())
    }

    /// # Errors
    #[distributed_lock(path = self.path())]
    pub async fn into_entries(mut self, more: T) -> Result<Vec<T>, LockError> {
        yield_now().await;
        self.entries.push(more);
        Ok(self.entries)
    }

    /// Names its lock.
    fn path(&self) -> String {
        format!("/ledger/{}", self.name)
    }

    /// # Errors
    #[distributed_lock(path = self.path())]
    pub async fn pinned(self: Pin<&Self>) -> Result<usize, LockError> {
        yield_now().await;
        Ok(self.entries.len())
    }

    /// # Errors
    #[distributed_lock(path = ["/ledger/{self.name}", "/all"])]
    pub async fn shared(self: Arc<Self>, _at: usize) -> Result<Option<T>, LockError> {
        yield_now().await;
        Ok(self.entries.first().cloned())
    }

    /// Clears it on the leader.
    #[leader_only(guard = term, path = "/sweepers/{self.name}")]
    pub async fn sweep(&mut self) {
        if term.is_leading() {
            yield_now().await;
            self.entries.clear();
        }
    }

    /// # Errors
    #[leader_only(otherwise = Ok(self.entries.len()))]
    pub fn total(&self) -> Result<usize, LockError> {
        Ok(self.entries.len())
    }
}

/// A trait whose methods are async.
pub trait Settle {
    /// Settles.
    fn settle(&self) -> impl Future<Output = Result<usize, LockError>> + Send;
}

impl<T: Send + Sync> Settle for Ledger<T> {
    #[distributed_lock(path = "/settle/{self.name}")]
    async fn settle(&self) -> Result<usize, LockError> {
        yield_now().await;
        Ok(self.entries.len())
    }
}

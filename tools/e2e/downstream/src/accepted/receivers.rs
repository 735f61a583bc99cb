//! Methods with every receiver, in `impl` blocks and in traits.

use std::pin::Pin;
use std::sync::Arc;

use zklock::{LockError, distributed_lock};

pub struct Ledger<T> {
    name: String,
    entries: Vec<T>,
}

impl<T: Clone + Send + Sync> Ledger<T> {
    const KIND: &'static str = "ledger";

    #[distributed_lock(path = "/{Self::KIND}/{self.name}")]
    pub async fn first(&self) -> Result<Option<&T>, LockError> {
        Ok(self.entries.first())
    }

    #[distributed_lock(path = "/{Self::KIND}/{self.name}", wait = "1m 30s")]
    pub async fn add(&mut self, entry: T) -> Result<&mut Self, LockError> {
        self.entries.push(entry);
        Ok(self)
    }

    #[distributed_lock(path = "/{Self::KIND}/{self.name}", guard = held)]
    pub async fn shared(self: Arc<Self>, at: usize) -> Result<T, LockError> {
        let _ = held;
        Ok(self.entries[at].clone())
    }

    #[distributed_lock(path = self.path())]
    pub async fn pinned(self: Pin<&Self>) -> Result<usize, LockError> {
        Ok(self.entries.len())
    }

    #[distributed_lock(path = self.path())]
    pub async fn into_entries(mut self, more: T) -> Result<Vec<T>, LockError> {
        self.entries.push(more);
        Ok(self.entries)
    }

    fn path(&self) -> String {
        format!("/ledger/{}", self.name)
    }
}

pub trait Settle {
    fn settle(&self) -> impl Future<Output = Result<Self, LockError>> + Send
    where
        Self: Sized;
}

impl<T: Clone + Send + Sync> Settle for Ledger<T> {
    #[distributed_lock(path = "/settle")]
    async fn settle(&self) -> Result<Self, LockError> {
        Ok(Self { name: self.name.clone(), entries: self.entries.clone() })
    }
}

fn must_be_send<T: Send>(_: T) {}

pub fn calls() {
    let ledger = || Ledger { name: "a".to_owned(), entries: vec![1] };
    must_be_send(ledger().first());
    must_be_send(ledger().add(2));
    must_be_send(Arc::new(ledger()).shared(0));
    must_be_send(Box::pin(ledger()).as_ref().pinned());
    must_be_send(ledger().into_entries(2));
    must_be_send(ledger().settle());
}

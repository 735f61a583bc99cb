//! The attribute on the methods of an `#[async_trait]`.

#![deny(warnings)]

use async_trait::async_trait;
use zklock::{LockError, distributed_lock, leader_only};

#[async_trait]
trait Ledger: Sync {
    fn name(&self) -> String;

    #[distributed_lock(path = "/ledger/{self.name()}", mode = read, guard = held)]
    async fn provided(&self) -> Result<String, LockError> {
        if self.name().is_empty() {
            return Ok(String::new());
        }
        Ok(held.fencing_token().to_string())
    }

    async fn audit(&self) -> Option<String>;

    async fn close(&self, year: u16) -> Result<u16, LockError>;

    async fn open(&self, year: u16) -> Result<u16, LockError>;
}

struct Book;

#[async_trait]
impl Ledger for Book {
    fn name(&self) -> String {
        "book".to_owned()
    }

    #[leader_only(otherwise = Some(self.name()))]
    async fn audit(&self) -> Option<String> {
        unreachable!("no replica leads")
    }

    #[distributed_lock(path = "/years/{year}")]
    #[tracing::instrument(skip(self), ret)]
    async fn close(&self, year: u16) -> Result<u16, LockError> {
        Ok(year)
    }

    #[leader_only(otherwise = Ok(year))]
    #[tracing::instrument(skip(self), err, ret)]
    async fn open(&self, year: u16) -> Result<u16, LockError> {
        Ok(year)
    }
}

fn must_be_send<T: Send>(future: T) -> T {
    future
}

#[tokio::test]
async fn a_method_asks_for_its_lock_before_its_body_runs() {
    let book = Book;
    assert!(must_be_send(book.close(2026)).await.is_err());
    assert!(must_be_send(book.open(2026)).await.is_err());
    let provided = must_be_send(book.provided()).await;
    assert!(matches!(provided, Err(LockError::NotInstalled { name: None, .. })), "{provided:?}");
}

#[tokio::test]
async fn a_method_asks_who_leads_before_its_body_runs() {
    assert_eq!(must_be_send(Book.audit()).await, None);
}

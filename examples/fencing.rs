//! A holder that was paused too long writes late, and is refused by the store and by its guard.
//!
//! ```text
//! cargo run --example fencing
//! ```
//!
//! A lock alone cannot stop a write that was already on its way when the lock passed on. The store can stop
//! it by the fencing token, and ZooKeeper can stop writes that go through the guard. Both replicas run in
//! this process, and so does the server, unless `ZKLOCK_CONNECT=host:port` names one. The example simulates
//! the pause: it deletes the lock's node, as an operator could.

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

#[path = "support/setting.rs"]
mod setting;

use std::error::Error;
use std::fmt;
use std::process::ExitCode;
use std::time::Duration;

use zklock::{Client, FencingToken, LockError, LossReason, MutexGuard};

use setting::{Failure, config, end, name_of_run, server};

/// The resource that the lock protects. It knows nothing of ZooKeeper, only the greatest token it has seen.
#[derive(Default)]
struct Store {
    value: &'static str,
    greatest: Option<FencingToken>,
}

/// The error for a writer whose lock has passed on.
#[derive(Debug)]
struct Stale {
    token: FencingToken,
    greatest: FencingToken,
}

impl Store {
    fn write(&mut self, token: FencingToken, value: &'static str) -> Result<(), Stale> {
        match self.greatest {
            Some(greatest) if greatest > token => return Err(Stale { token, greatest }),
            _ => self.greatest = Some(token),
        }
        self.value = value;
        println!("  the store accepts {value:?} with token {token}");
        Ok(())
    }
}

impl fmt::Display for Stale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "token {} is older than {}", self.token, self.greatest)
    }
}

impl Error for Stale {}

/// Runs two replicas of a service, each with its own session.
async fn story(first: &Client, second: &Client, place: &Place) -> Result<(), Failure> {
    let mut store = Store::default();

    let early = first.mutex(LOCK)?.lock().await?;
    println!("the first replica holds the lock with token {}", early.fencing_token());
    store.write(early.fencing_token(), "from the first")?;
    early.create("/ledger", "from the first").await?;

    println!("it is paused, and the lock is taken from it");
    place.delete_holder(first).await?;

    let late = second.mutex(LOCK)?.lock().await?;
    println!("the second replica holds the lock with token {}", late.fencing_token());
    assert!(late.fencing_token() > early.fencing_token());
    store.write(late.fencing_token(), "from the second")?;
    late.set_data("/ledger", "from the second").await?;

    println!("the first replica wakes up, and writes as if nothing had happened");
    refused(&mut store, &early).await;
    assert_eq!(store.value, "from the second");
    println!("the value is still {:?}", store.value);

    late.delete("/ledger").await?;
    Ok(late.release().await?)
}

/// Writes under a lost lock, which the store and the guard both refuse.
async fn refused(store: &mut Store, early: &MutexGuard) {
    let stale = store.write(early.fencing_token(), "too late").expect_err("the store refuses old tokens");
    println!("  the store refuses it: {stale}");

    let reason = early.lost().await;
    assert_eq!(reason, LossReason::NodeDeleted);
    println!("  its guard says that the lock was lost: {reason}");

    let error = early.set_data("/ledger", "too late").await.expect_err("ZooKeeper refuses lost locks");
    assert!(matches!(error, LockError::Lost { .. }));
    println!("  a write to ZooKeeper through the guard is refused: {error}");
}

const LOCK: &str = "/report";

/// The server and namespace of this run.
struct Place {
    server: String,
    namespace: String,
}

impl Place {
    async fn connect(&self) -> Result<Client, LockError> {
        config(&self.server)?.namespace(&self.namespace).connect().await
    }

    /// Deletes the node that holds the lock, as an operator could do by hand.
    async fn delete_holder(&self, client: &Client) -> Result<(), Failure> {
        let participants = client.mutex(LOCK)?.participants().await?;
        let node = &participants.first().ok_or("nobody holds the lock")?.node;
        let outsider = zookeeper_client::Client::connect(&self.server).await?;
        Ok(outsider.delete(&format!("{}{LOCK}/{node}", self.namespace), None).await?)
    }
}

#[tokio::main]
async fn tell(server: String) -> Result<(), Failure> {
    let place = Place { server, namespace: format!("/fencing-{}", name_of_run()?) };
    let (first, second) = (place.connect().await?, place.connect().await?);
    let outcome = story(&first, &second, &place).await;
    first.shutdown(Duration::from_secs(5)).await;
    second.shutdown(Duration::from_secs(5)).await;
    outcome
}

fn run() -> Result<(), Failure> {
    let (server, _ours) = server()?;
    tell(server)
}

fn main() -> ExitCode {
    end(run())
}

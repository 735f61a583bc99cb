//! The access to the participants of a lock.
//!
//! Uses the floors below: `exit`.

use zklock::{Client, Surveyed};

use crate::exit::Failure;

/// Fails if this client may not see the participants of the lock at a path, of which a survey shows none.
pub(crate) async fn check(client: &Client, path: &str, surveyed: &Surveyed) -> Result<(), Failure> {
    let is_seen = surveyed.locks.iter().any(|lock| !lock.participants.is_empty());
    let is_hidden =
        surveyed.left_out > 0 || surveyed.locks.iter().any(|lock| lock.holding + lock.waiting > 0);
    if is_hidden && !is_seen {
        client.mutex(path)?.participants().await?;
        // Its participants are below two nodes of its own. The number of permits only tells holders from waiters.
        client.semaphore(path, 1)?.participants().await?;
    }
    Ok(())
}

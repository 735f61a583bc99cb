//! The agreement of a semaphore's participants on its number of permits.
//!
//! The data of the semaphore's node contains the number, as with kazoo, or the path of the node that
//! contains it. The number is that of the participants that have permits: when no participant has any, the
//! next one may set another number. Curator has no such check, and neither reads nor writes that data.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::error::LockError;
use crate::queue::contender::{Contender, ContenderId};
use crate::queue::predicate::{LEASES, Role};
use crate::session::drive::NotAcquired;
use crate::session::request_error::RequestError;
use crate::time::sleep;

use super::permits::{Contest, known};
use super::request::Count;

impl Contest<'_> {
    /// Checks that the participants with permits use the same number. States it in the semaphore's node if the node states
    /// nothing, or if no other contender than `own` has a permit. A check that is given up counts as cancelled.
    pub(super) async fn agree(
        &self,
        own: ContenderId,
        cancel: &CancellationToken,
    ) -> Result<(), NotAcquired> {
        // The contender's own driver reports that the session is over.
        while !cancel.is_cancelled() && !self.session.is_over() {
            if let Some(verdict) = known(self.compare(own).await, self.path())? {
                return verdict.map_err(NotAcquired::Refused);
            }
            sleep(PAUSE).await;
        }
        Err(NotAcquired::Cancelled)
    }

    async fn compare(&self, own: ContenderId) -> Result<Result<(), LockError>, RequestError> {
        let (requests, _permit) = (self.session.requests(), self.session.bounds().requests(1).await);
        let read = requests.read(self.path().full()).await?.ok_or(RequestError::NoNode)?;
        let (ours, stated) = (self.permits.count.statement(), statement(&read.data));
        // Look for contenders of another recipe at the semaphore's own path if the node has more
        // children than a semaphore's own two, or if this client is the first to state a number.
        if read.stat.num_children > OWN_CHILDREN || stated.as_deref() == Some("") {
            let names = requests.names(self.path().full()).await?;
            if let Some(other) = names.iter().find_map(|name| Contender::parse(name)) {
                let (path, own) = (self.path().relative().to_owned(), Role::Permit.kind().to_string());
                let other = other.role.kind().to_string();
                return Ok(Err(LockError::MixedRecipes { path, own, other }));
            }
        }
        let Some(theirs) = stated.filter(|theirs| *theirs != ours) else { return Ok(Ok(())) };
        if !theirs.is_empty() {
            let names = requests.names(&self.path().child(LEASES)).await?;
            if names.iter().filter_map(|name| Contender::parse(name)).any(|lease| !lease.is_of(own)) {
                return Ok(Err(self.differs(&theirs)));
            }
        }
        requests.write(self.path().full(), ours.as_bytes(), Some(read.stat.version)).await?;
        Ok(Ok(()))
    }

    fn differs(&self, theirs: &str) -> LockError {
        let path = self.path().relative().to_owned();
        match (&self.permits.count, theirs.parse()) {
            (Count::Agreed(ours), Ok(theirs)) => LockError::PermitsDiffer { path, ours: *ours, theirs },
            (Count::Agreed(ours), Err(_)) => {
                let reason = format!("others use the number in {theirs}");
                LockError::InvalidPermits { path, wanted: *ours, reason }
            }
            (Count::Shared { .. }, _) => {
                let reason = format!("this client uses a shared number, but others use {theirs}");
                LockError::InvalidPermits { path, wanted: 1, reason }
            }
        }
    }
}

/// Returns the statement in the data of a semaphore's node: a number of permits, the path of the node that contains it, or
/// nothing. Data of another kind is neither interpreted nor replaced.
fn statement(data: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(data).ok()?;
    let path = || (text.is_empty() || text.starts_with('/')).then(|| text.to_owned());
    text.parse::<u32>().map_or_else(|_| path(), |permits| Some(permits.to_string()))
}

/// The number of children of a semaphore's node: the gate's queue, and the permits.
const OWN_CHILDREN: i32 = 2;
/// The pause between attempts to check.
const PAUSE: Duration = Duration::from_millis(20);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_or_where_it_is_states_the_permits() {
        assert_eq!(statement(b"").as_deref(), Some(""));
        assert_eq!(statement(b"03").as_deref(), Some("3"));
        assert_eq!(statement(b"/app/limit").as_deref(), Some("/app/limit"));
        for foreign in [&b"127.0.0.1"[..], b"-1", b"99999999999", b"\xff"] {
            assert_eq!(statement(foreign), None);
        }
    }
}

//! The agreement of a semaphore's participants on its number of permits.
//!
//! The data of the semaphore's node contains the number, as with kazoo, or the path of the node that
//! contains it. The number is that of the participants that have permits: when no participant has any, the
//! next one may set another number. Curator has no such check, and neither reads nor writes that data.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::error::{LockError, Refusal};
use crate::queue::contender::{Contender, ContenderId};
use crate::queue::predicate::{LEASES, Role};
use crate::session::drive::NotAcquired;
use crate::session::request_error::RequestError;
use crate::time::sleep;

use super::permits::Contest;
use super::request::Count;

impl Contest<'_> {
    /// Checks that the participants with permits use the same number. States it in the semaphore's node if the node states
    /// nothing, or if no other contender than `own` has a permit. A check that is given up counts as cancelled.
    pub(super) async fn agree(
        &self,
        own: ContenderId,
        cancel: &CancellationToken,
    ) -> Result<(), NotAcquired> {
        while !cancel.is_cancelled() {
            match self.compare(own).await {
                Ok(verdict) => return verdict.map_err(NotAcquired::Refused),
                // The contender's own driver reports that the session is over.
                Err(RequestError::SessionOver) => break,
                Err(
                    RequestError::Unknown(_)
                    | RequestError::NoNode
                    | RequestError::Refused(Refusal::BadVersion),
                ) => sleep(PAUSE).await,
                Err(error) => return Err(NotAcquired::Refused(error.into_error(self.path().relative()))),
            }
        }
        Err(NotAcquired::Cancelled)
    }

    async fn compare(&self, own: ContenderId) -> Result<Result<(), LockError>, RequestError> {
        let _permit = self.session.bounds().requests(1).await;
        let read = self.session.requests().read(self.path().full()).await?.ok_or(RequestError::NoNode)?;
        let (ours, stated) = (self.permits.count.statement(), statement(&read.data));
        // Look for contenders of another recipe at the semaphore's own path if the node has more
        // children than a semaphore's own two, or if this client is the first to state a number.
        if (read.stat.num_children > OWN_CHILDREN || stated.as_deref() == Some(""))
            && let Some(other) = self.other_recipe().await?
        {
            let (path, own) = (self.path().relative().to_owned(), Role::Permit.kind().to_string());
            return Ok(Err(LockError::MixedRecipes { path, own, other: other.kind().to_string() }));
        }
        let Some(theirs) = stated.filter(|theirs| *theirs != ours) else { return Ok(Ok(())) };
        if !theirs.is_empty() && self.others_have_permits(own).await? {
            return Ok(Err(self.differs(&theirs)));
        }
        self.session.requests().write(self.path().full(), ours.as_bytes(), Some(read.stat.version)).await?;
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

    async fn others_have_permits(&self, own: ContenderId) -> Result<bool, RequestError> {
        let names = self.session.requests().names(&self.path().child(LEASES)).await?;
        let leases = names.iter().filter_map(|name| Contender::parse(name));
        Ok(leases.into_iter().any(|lease| !lease.is_of(own)))
    }

    /// Returns the role of a contender at the semaphore's own path, if there is one.
    async fn other_recipe(&self) -> Result<Option<Role>, RequestError> {
        let names = self.session.requests().names(self.path().full()).await?;
        Ok(names.iter().find_map(|name| Contender::parse(name)).map(|contender| contender.role))
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

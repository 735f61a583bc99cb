//! The agreement of a semaphore's participants on its number of permits.
//!
//! The data of the semaphore's node contains the number, as with kazoo, or the path of the node that
//! contains it. The number is that of the participants that have permits: when no participant has any, the
//! next one may set another number. Curator has no such check, and neither reads nor writes that data.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::error::{LockError, Refusal};
use crate::path::NodePath;
use crate::queue::contender::{Contender, ContenderId};
use crate::queue::predicate::{LEASES, Role};
use crate::session::Session;
use crate::session::drive::NotAcquired;
use crate::session::request_error::RequestError;
use crate::time::sleep;

/// The statement in the data of a semaphore's node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stated {
    Nothing,
    Permits(u32),
    /// The number is in the node at this path on the servers.
    Shared(String),
    /// The data is of another kind, and is neither interpreted nor replaced.
    Foreign,
}

impl Stated {
    fn read(data: &[u8]) -> Self {
        let text = std::str::from_utf8(data).unwrap_or("?");
        match text.parse() {
            Ok(permits) => Self::Permits(permits),
            Err(_) if text.is_empty() => Self::Nothing,
            Err(_) if text.starts_with('/') => Self::Shared(text.to_owned()),
            Err(_) => Self::Foreign,
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Permits(permits) => permits.to_string(),
            Self::Shared(path) => path.clone(),
            Self::Nothing | Self::Foreign => String::new(),
        }
    }
}

/// The semaphore of a contender that has passed the gate.
pub(super) struct Semaphore<'a> {
    pub(super) session: &'a Session,
    pub(super) path: &'a NodePath,
    pub(super) ours: Stated,
    pub(super) id: ContenderId,
}

impl Semaphore<'_> {
    /// Checks that the participants with permits use the number stated by `ours`. Writes `ours` to the semaphore's node if it
    /// states nothing, or if no other contender has a permit. A check that is given up counts as cancelled.
    pub(super) async fn agree(&self, cancel: &CancellationToken) -> Result<(), NotAcquired> {
        while !cancel.is_cancelled() {
            match self.look().await {
                Ok(verdict) => return verdict.map_err(NotAcquired::Refused),
                // The contender's own driver reports that the session is over.
                Err(RequestError::SessionOver) => break,
                Err(
                    RequestError::Unknown(_)
                    | RequestError::NoNode
                    | RequestError::Refused(Refusal::BadVersion),
                ) => sleep(PAUSE).await,
                Err(error) => return Err(NotAcquired::Refused(error.into_error(self.path.relative()))),
            }
        }
        Err(NotAcquired::Cancelled)
    }

    async fn look(&self) -> Result<Result<(), LockError>, RequestError> {
        let _permit = self.session.bounds().requests(1).await;
        let read = self.session.requests().read(self.path.full()).await?.ok_or(RequestError::NoNode)?;
        let stated = Stated::read(&read.data);
        // Look for contenders of another recipe at the semaphore's own path if the node has more
        // children than a semaphore's own two, or if this client is the first to state a number.
        if (read.stat.num_children > OWN_CHILDREN || stated == Stated::Nothing)
            && let Some(other) = self.other_recipe().await?
        {
            let (path, own) = (self.path.relative().to_owned(), Role::Permit.kind().to_string());
            return Ok(Err(LockError::MixedRecipes { path, own, other: other.kind().to_string() }));
        }
        if stated == self.ours || stated == Stated::Foreign {
            return Ok(Ok(()));
        }
        if stated != Stated::Nothing && self.others_have_permits().await? {
            return Ok(Err(self.differs(stated)));
        }
        let ours = self.ours.text();
        self.session.requests().write(self.path.full(), ours.as_bytes(), Some(read.stat.version)).await?;
        Ok(Ok(()))
    }

    fn differs(&self, theirs: Stated) -> LockError {
        let path = self.path.relative().to_owned();
        match (&self.ours, theirs) {
            (Stated::Permits(ours), Stated::Permits(theirs)) => {
                LockError::PermitsDiffer { path, ours: *ours, theirs }
            }
            (Stated::Permits(ours), theirs) => {
                let reason = format!("others use the number in {}", theirs.text());
                LockError::InvalidPermits { path, wanted: *ours, reason }
            }
            (_, theirs) => {
                let reason = format!("this client uses a shared number, but others use {}", theirs.text());
                LockError::InvalidPermits { path, wanted: 1, reason }
            }
        }
    }

    async fn others_have_permits(&self) -> Result<bool, RequestError> {
        let names = self.list(&self.path.below(LEASES)).await?;
        let leases = names.iter().filter_map(|name| Contender::parse(name));
        Ok(leases.into_iter().any(|lease| !lease.is_of(self.id)))
    }

    /// Returns the role of a contender at the semaphore's own path, if there is one.
    async fn other_recipe(&self) -> Result<Option<Role>, RequestError> {
        let names = self.list(self.path).await?;
        Ok(names.iter().find_map(|name| Contender::parse(name)).map(|contender| contender.role))
    }

    async fn list(&self, path: &NodePath) -> Result<Vec<String>, RequestError> {
        match self.session.requests().names(path.full()).await {
            Err(RequestError::NoNode) => Ok(Vec::new()),
            names => names,
        }
    }
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
        assert_eq!(Stated::read(b""), Stated::Nothing);
        assert_eq!(Stated::read(b"3"), Stated::Permits(3));
        assert_eq!(Stated::read(b"/app/limit"), Stated::Shared("/app/limit".to_owned()));
        for foreign in [&b"127.0.0.1"[..], b"-1", b"99999999999", b"\xff"] {
            assert_eq!(Stated::read(foreign), Stated::Foreign);
        }
    }
}

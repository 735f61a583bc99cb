//! Who holds a lock and who waits for it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crate::client::worker::Worker;
use crate::error::LockError;
use crate::lease::FencingToken;
use crate::path::NodePath;
use crate::queue::turn;
use crate::session::fault::Fault;
use crate::session::ops::Described;

/// A contender for a lock, as others see it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Participant {
    /// The name of its node below the lock's.
    pub node: String,
    /// What it says of itself: for clients of zklock, [`Config::identity`](crate::Config::identity).
    pub identity: String,
    /// The session that owns it.
    pub session_id: i64,
    /// When it entered the queue, by the clock of the server.
    pub entered: SystemTime,
    /// The token that it holds the lock with, or will.
    pub fencing_token: FencingToken,
}

impl From<Described> for Participant {
    fn from(described: Described) -> Self {
        let entered = Duration::from_millis(described.created_ms.try_into().unwrap_or_default());
        Self {
            node: described.name,
            identity: String::from_utf8_lossy(&described.data).into_owned(),
            session_id: described.owner,
            entered: SystemTime::UNIX_EPOCH + entered,
            fencing_token: FencingToken::new(described.zxid),
        }
    }
}

pub(super) async fn list(worker: &Arc<Worker>, path: &NodePath) -> Result<Vec<Participant>, LockError> {
    let within = worker.default_wait();
    let asked = ask(worker.clone(), path.clone());
    let answer = worker.call(within, asked).await;
    answer.unwrap_or_else(|unanswered| Err(unanswered.into_error(path, within)))
}

async fn ask(worker: Arc<Worker>, path: NodePath) -> Result<Vec<Participant>, LockError> {
    loop {
        let session = worker.session(&path, worker.closing()).await?;
        match session.ops().describe(path.full()).await {
            Ok(described) => return Ok(in_order(described)),
            Err(Fault::Unknown(_) | Fault::SessionOver) => tokio::time::sleep(PAUSE).await,
            Err(refused) => return Err(refused.into_error(path.relative())),
        }
    }
}

fn in_order(described: Vec<Described>) -> Vec<Participant> {
    let names: Vec<_> = described.iter().map(|described| described.name.clone()).collect();
    let mut by_name: HashMap<_, _> =
        described.into_iter().map(|described| (described.name.clone(), described)).collect();
    let contenders = turn::in_order(&names).into_iter();
    contenders.filter_map(|contender| by_name.remove(contender.name)).map(Participant::from).collect()
}

/// Between attempts to ask.
const PAUSE: Duration = Duration::from_millis(50);

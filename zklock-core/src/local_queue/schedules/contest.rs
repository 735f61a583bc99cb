//! The contests of a schedule.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::client::worker::Worker;
use crate::contend::staged::Stage;
use crate::contend::{Contending, Listener, Wanted};
use crate::error::LockError;
use crate::lease::Claim;
use crate::path::NodePath;
use crate::queue::acquisition::Node;
use crate::queue::predicate::Role;
use crate::session::drive::{Contention, Progress};
use crate::session::own_node::OwnNode;

use super::chance;
use super::contender::Staged;
use super::servers::Servers;

/// The servers, as the clients of a schedule reach them.
pub(super) struct Reachable(pub(super) Arc<Servers>);

impl Stage for Reachable {
    fn contend(
        &self,
        cancel: CancellationToken,
        (worker, path): (&Arc<Worker>, &NodePath),
        (wanted, contention): (&Wanted, Contention),
        listener: Listener,
    ) -> Contending {
        let role = match wanted {
            Wanted::Place(place) | Wanted::Candidacy { place, .. } => place.role,
            Wanted::Permits(_) => Role::Permit,
        };
        let (servers, worker, path) = (self.0.clone(), worker.clone(), path.clone());
        Box::pin(async move {
            loop {
                let contended =
                    contend_once(&servers, (&worker, &path, (role, contention)), &cancel, &listener).await;
                if let Some(end) = contended {
                    return end.map(|claim| claim.map(|claim| vec![claim]));
                }
            }
        })
    }
}

/// Contends with one node, as long as it exists. Returns `None` if it is gone.
async fn contend_once(
    servers: &Arc<Servers>,
    (worker, path, (role, contention)): (&Arc<Worker>, &NodePath, (Role, Contention)),
    cancel: &CancellationToken,
    listener: &Listener,
) -> Option<Result<Option<Claim>, LockError>> {
    listener(Progress::Connecting);
    chance::pause().await;
    let session = servers.session(worker);
    listener(Progress::Entering);
    chance::pause().await;
    let own_node = Arc::new(OwnNode::default());
    let number = servers.create(session.id(), role, own_node.clone())?;
    let others = servers.nodes() - 1;
    chance::pause().await;
    loop {
        if cancel.is_cancelled() {
            chance::pause().await;
            servers.delete_node(number);
            return Some(Err(LockError::Closed { path: path.relative().to_owned() }));
        }
        let ahead = servers.ahead(number)?;
        if ahead == 0 {
            break;
        }
        if contention == Contention::Leave {
            chance::pause().await;
            servers.delete_node(number);
            return Some(Ok(None));
        }
        listener(Progress::Queued(ahead));
        let closer = servers.until(|servers| (servers.ahead(number) != Some(ahead)).then_some(()));
        cancel.run_until_cancelled(closer).await;
        chance::pause().await;
    }
    let node = Node { name: format!("lock-{number:010}"), zxid: number, owner: session.id() };
    let contender =
        Staged { servers: servers.clone(), session, queue: path.clone(), number, others, own_node };
    Some(Ok(Some(Claim::begin(contender, path.clone(), &node, worker.tasks()))))
}

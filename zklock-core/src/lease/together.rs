//! The end of several leases at once.

use std::mem;
use std::sync::Arc;

use tokio::task::yield_now;
use tokio::time::{Instant, sleep, timeout};

use super::Unclaimed;
use super::contender::AtRest;
use super::tenure::Tenure;

/// Contenders whose leases have no holders any more. Each of them withdraws on its own when this is dropped.
struct Leaving(Vec<(Arc<Tenure>, AtRest<Tenure>)>);

/// Withdraws the contenders of several leases in the background, as dropping each of the leases does. If all of them are
/// of one session, one transaction deletes their nodes.
pub(crate) fn leave_together(leases: &[Unclaimed]) {
    let tenures = leases.iter().map(|Unclaimed(tenure)| tenure);
    // A contender that is at work finds out by itself.
    let resting = tenures.filter_map(|tenure| Some((tenure.clone(), tenure.desert()?)));
    let leaving = Leaving(resting.collect());
    let Some((first, _)) = leaving.0.first() else { return };
    let tasks = first.tasks.clone();
    let is_one_session = leaving.0.iter().all(|(tenure, _)| Arc::ptr_eq(&tenure.session, &first.session));
    if leaving.0.len() > 1 && is_one_session {
        tasks.spawn(delete(leaving));
    }
}

/// Deletes the nodes. If that fails, each contender deletes its own.
async fn delete(mut leaving: Leaving) {
    let Some((first, _)) = leaving.0.first() else { return };
    let (session, patience, since) = (first.session.clone(), first.tasks.patience(), Instant::now());
    leaving.0.iter().for_each(|(tenure, _)| tenure.begin_departure());
    let nodes = leaving.depart();
    let mut deleted = Box::pin(session.delete_together(&nodes));
    let answer = tokio::select! {
        biased;
        // The first poll issues the request.
        is_deleted = &mut deleted => Some(is_deleted),
        // Meanwhile the client library's task, which runs on this thread too, writes it.
        () = yield_now() => None,
    };
    let is_deleted = match answer {
        Some(is_deleted) => is_deleted,
        None => {
            leaving.0.iter().for_each(|(tenure, _)| tenure.note_handed_over());
            match timeout(patience, &mut deleted).await {
                Ok(is_deleted) => is_deleted,
                Err(_) => {
                    leaving.0.iter().for_each(|(tenure, _)| tenure.note_late());
                    deleted.await
                }
            }
        }
    };
    if is_deleted {
        leaving.note_deleted();
        return;
    }
    let tenures: Vec<_> = leaving.0.iter().map(|(tenure, _)| tenure.clone()).collect();
    drop(leaving);
    // The callers have waited for the transaction already.
    sleep(patience.saturating_sub(since.elapsed())).await;
    tenures.iter().for_each(|tenure| tenure.note_late());
}

impl Leaving {
    /// Decides to withdraw all contenders, and returns the paths of the nodes to be deleted.
    fn depart(&mut self) -> Vec<String> {
        let mut nodes = Vec::new();
        for (tenure, contender) in mem::take(&mut self.0) {
            let mut contender = contender.rise(&tenure);
            nodes.extend(contender.depart());
            self.0.push((tenure, AtRest::Large(contender)));
        }
        nodes
    }

    /// Takes note that these nodes are deleted.
    fn note_deleted(&mut self) {
        for (_, contender) in &mut self.0 {
            if let AtRest::Large(contender) = contender {
                contender.note_deleted();
            }
        }
    }
}

impl Drop for Leaving {
    fn drop(&mut self) {
        for (tenure, contender) in mem::take(&mut self.0) {
            contender.work(tenure);
        }
    }
}

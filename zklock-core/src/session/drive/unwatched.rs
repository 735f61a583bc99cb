//! Waits behind a contender for which there is no room for a watch.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::queue::acquisition::Event;
use crate::session::fault::Fault;
use crate::session::notice::Watch;
use crate::session::{Health, Session};

use super::Driver;

impl Driver {
    pub(super) async fn wait_unwatched(&mut self, predecessor: &str, cancel: &CancellationToken) -> Event {
        let Some(own) = self.machine.node().map(|node| node.name.clone()) else {
            return Event::OwnNodeGone;
        };
        let (session, dir) = (&self.session, self.path.full());
        let (news, is_first) = session.lookouts.join(dir, own.to_string(), predecessor.to_owned());
        if is_first {
            session.spawn(keep_looking(session.clone(), dir.to_owned()));
        }
        tokio::select! {
            biased;
            () = cancel.cancelled() => Event::Cancel,
            () = session.over() => Event::SessionLost,
            // Without news, the contender lists the queue itself.
            news = news => news.unwrap_or(Event::PredecessorGone),
            never = Watch::spend(&mut self.children) => match never {},
        }
    }
}

/// Lists the queue until no contender waits for it without a watch, or the session is over.
async fn keep_looking(session: Arc<Session>, dir: String) {
    let mut pause = SHORTEST_PAUSE;
    while session.over.run_until_cancelled(sleep(pause)).await.is_some() {
        let Some(list) = session.lookouts.begin(&dir) else {
            return;
        };
        if session.link().health != Health::Connected {
            continue;
        }
        match session.ops().names(&dir).await {
            Ok(names) => {
                pause = SHORTEST_PAUSE.max(PAUSE_PER_NAME * u32::try_from(names.len()).unwrap_or(u32::MAX));
                session.lookouts.report(&dir, list, &names);
            }
            Err(Fault::NoNode) => session.lookouts.report(&dir, list, &[]),
            Err(Fault::Unknown(reason)) => tracing::debug!(dir, reason, "a queue could not be listed"),
            // The contenders list the queue themselves, and report the refusal.
            Err(_) => break,
        }
    }
    session.lookouts.forget(&dir);
}

const SHORTEST_PAUSE: Duration = Duration::from_secs(1);
/// Bounds the names that are read to 8,000 per second.
const PAUSE_PER_NAME: Duration = Duration::from_micros(125);

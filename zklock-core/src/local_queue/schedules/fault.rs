//! The faults of a schedule.

use std::sync::Arc;

use crate::client::worker::Worker;

use super::chance;
use super::servers::Servers;

/// Lets a few faults occur.
pub(super) async fn occur(servers: Arc<Servers>, workers: Vec<Arc<Worker>>) {
    for _ in 0..chance::below(4) {
        for _ in 0..chance::below(6) {
            chance::pause().await;
        }
        let worker = &workers[chance::below(workers.len())];
        match chance::below(4) {
            0 => servers.delete_at(chance::below(3)),
            1 => end_session(&servers, worker).await,
            2 => break_connection(&servers, worker).await,
            _ => servers.ask_to_release(chance::below(3)),
        }
    }
}

/// Ends the session of a client, which notices it before its nodes go.
async fn end_session(servers: &Servers, worker: &Arc<Worker>) {
    let ended = servers.open(worker).expect("a session was open");
    ended.end();
    chance::pause().await;
    servers.expire(ended.id());
}

async fn break_connection(servers: &Servers, worker: &Arc<Worker>) {
    let session = servers.session(worker);
    session.suspend();
    chance::pause().await;
    chance::pause().await;
    session.restore();
}

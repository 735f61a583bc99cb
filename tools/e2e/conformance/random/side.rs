use std::net::SocketAddr;

use futures_util::future::join_all;
use zklock_testkit::conversation::Message;
use zklock_testkit::wire::Request;

use super::script::{PATHS, ROOT, Script, Since, Turn, Way};
use super::view::View;
use crate::client::Client;
use crate::server::Running;

/// The limits and the statistics of the nodes of a run.
const QUOTAS: &str = "/zookeeper/quota/run";

async fn wipe(admin: &mut Client, path: &str) {
    for child in admin.children(path).await.unwrap_or_default() {
        Box::pin(wipe(admin, &format!("{path}/{child}"))).await;
    }
    let _ = admin.delete(path).await;
}

pub(crate) struct Side {
    address: SocketAddr,
    clients: Vec<Client>,
    last: Vec<i64>,
    view: View,
}

impl Side {
    pub(crate) async fn open(server: &Running, script: &Script) -> Self {
        let mut admin = server.client().await;
        admin.authenticate("super", "admin").await;
        for tree in [ROOT, QUOTAS] {
            wipe(&mut admin, tree).await;
        }
        let view = View::new(admin.zxid().await, script.zxids);
        admin.make(ROOT).await;
        admin.close().await;
        let last = vec![view.start(); script.sessions];
        let mut side = Self { address: server.address(), clients: Vec::new(), last, view };
        for client in join_all((0..script.sessions).map(|_| server.client())).await {
            side.view.add(client.session_id());
            side.clients.push(client);
        }
        side
    }

    async fn new_client(&mut self) -> Client {
        let client = Client::open(self.address).await;
        self.view.add(client.session_id());
        client
    }

    /// Takes the turn of one session, and returns the messages that it or the others receive.
    pub(crate) async fn take(&mut self, turn: &Turn) -> Vec<Message> {
        match turn {
            Turn::Ask { session, requests } => self.exchange(*session, requests.clone()).await,
            Turn::Reopen { session } => {
                let new = self.new_client().await;
                std::mem::replace(&mut self.clients[*session], new).close().await;
                self.events_of_all().await
            }
            Turn::Reattach { session, way, since, watches } => {
                let old = self.clients[*session].session().clone();
                let (address, index) = (self.address, *session);
                if matches!(way, Way::Dropped) {
                    self.clients[index].disconnect().await.expect("the connection is closed");
                }
                let new = Client::attach(address, &old).await;
                let mut left = std::mem::replace(&mut self.clients[index], new);
                if matches!(way, Way::Kicked) {
                    left.until_closed().await.expect("the connection is closed");
                }
                let mut watches = watches.clone();
                watches.relative_zxid = match since {
                    Since::Last => self.last[index],
                    Since::Start => self.view.start(),
                    Since::Nothing => 0,
                };
                self.exchange(index, vec![Request::SetWatches2(watches)]).await
            }
        }
    }

    /// Reads all nodes, and ends the sessions.
    pub(crate) async fn end(&mut self) -> Vec<Message> {
        let reads = [ROOT].into_iter().chain(PATHS.split(' ')).flat_map(|path| {
            let path = || path.to_owned();
            let children = Request::GetChildren2 { path: path(), watch: false };
            [Request::GetData { path: path(), watch: false }, children, Request::GetAcl { path: path() }]
        });
        let mut seen = self.exchange(0, reads.collect()).await;
        for session in 1..self.clients.len() {
            seen.extend(self.exchange(session, vec![Request::Ping]).await);
        }
        join_all(self.clients.drain(..).map(Client::close)).await;
        seen
    }

    /// Sends requests at once, and waits for all of their answers and for the events before those.
    async fn exchange(&mut self, session: usize, requests: Vec<Request>) -> Vec<Message> {
        let client = &mut self.clients[session];
        let mut unanswered = requests.len();
        for request in requests {
            client.send(request).await.expect("the server takes requests");
        }
        let mut seen = Vec::new();
        while unanswered > 0 {
            let message = client.receive().await.expect("the server answers");
            if let Message::Reply(reply) = &message {
                unanswered -= 1;
                self.last[session] = self.last[session].max(reply.zxid);
            }
            seen.push(self.view.of(message));
        }
        seen
    }

    /// Returns the messages of all sessions after nodes were deleted together, which happens in no defined
    /// order.
    async fn events_of_all(&mut self) -> Vec<Message> {
        let mut all = Vec::new();
        for session in 0..self.clients.len() {
            let mut seen = self.exchange(session, vec![Request::Ping]).await;
            seen.sort_by_key(|message| format!("{message:?}"));
            all.extend(seen);
        }
        all
    }
}

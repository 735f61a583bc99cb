//! Another client of the servers: it deletes nodes, ends sessions and lists nodes, on connections of its own.

use std::collections::BTreeMap;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::time::{Instant, timeout};
use zklock_testkit::conversation::ConversationError;
use zklock_testkit::wire::{CheckVersion, ConnectRequest, Delete, ErrorCode, Op, Request, Response, Stat};
use zklock_testkit::{Conversation, session_password};

/// A client that asks one server after another.
#[derive(Clone, Debug)]
pub(crate) struct Outsider {
    servers: Vec<SocketAddr>,
}

impl Outsider {
    pub(crate) fn new(servers: Vec<SocketAddr>) -> Self {
        Self { servers }
    }

    /// Deletes those of some nodes that have no children, again and again for some time. Returns the number of
    /// deletions.
    pub(crate) async fn reap(&self, paths: &[String], lasts: Duration) -> u64 {
        let (end, mut deletions) = (Instant::now() + lasts, 0);
        while Instant::now() < end {
            let reaping = async |conversation: &mut Conversation| {
                while Instant::now() < end {
                    for path in paths {
                        deletions += u64::from(delete(conversation, path).await?);
                    }
                    tokio::time::sleep(PAUSE).await;
                }
                Ok(())
            };
            // Other faults can make all servers refuse at the same time, or end the connection.
            if self.ask(reaping).await.is_err() {
                tokio::time::sleep(PAUSE).await;
            }
        }
        deletions
    }

    /// Asks the first server that answers.
    pub(crate) async fn ask<T>(
        &self,
        question: impl AsyncFnOnce(&mut Conversation) -> io::Result<T>,
    ) -> io::Result<T> {
        let mut conversation = self.open().await?;
        let answer = question(&mut conversation).await;
        close(conversation).await;
        answer
    }

    /// Returns the ephemeral nodes below a path, each with its session and the number of servers that have it.
    pub(crate) async fn ephemerals(&self, path: &str) -> io::Result<BTreeMap<String, (i64, usize)>> {
        let mut found = BTreeMap::new();
        for server in &self.servers {
            let mut conversation = in_time(Conversation::open(*server)).await?;
            catch_up(&mut conversation).await?;
            for (path, session) in ephemerals(&mut conversation, path).await? {
                found.entry(path).or_insert((session, 0)).1 += 1;
            }
            close(conversation).await;
        }
        Ok(found)
    }

    /// Attaches to a session and closes it. Its owner may win it back before, so this is tried again until the servers
    /// do not know the session, or as long as the run goes on. Returns whether they do not know it any more.
    pub(crate) async fn end_session(&self, session_id: i64, goes_on: impl Fn() -> bool) -> bool {
        for _ in (0..SESSION_TRIES).take_while(|_| goes_on()) {
            for server in &self.servers {
                if let Ok(Err(ConversationError::NoSession(_))) =
                    timeout(WITHIN, end(*server, session_id)).await
                {
                    return true;
                }
            }
        }
        false
    }

    /// Opens a session at the first server that answers.
    async fn open(&self) -> io::Result<Conversation> {
        for server in &self.servers {
            if let Ok(Ok(conversation)) = timeout(WITHIN, Conversation::open(*server)).await {
                return Ok(conversation);
            }
        }
        Err(io::Error::other("no server answers"))
    }
}

/// Commits a transaction that changes nothing. The server then has all changes that were committed before, whereas a leader
/// that has been deposed, and does not know it yet, still answers a `sync`.
async fn catch_up(conversation: &mut Conversation) -> io::Result<()> {
    let check = CheckVersion { path: "/".to_owned(), version: -1 };
    match answered(conversation, Request::Multi(vec![Op::Check(check)])).await? {
        Some(_) => Ok(()),
        None => Err(io::Error::other("a server commits no transaction")),
    }
}

async fn end(server: SocketAddr, session_id: i64) -> Result<(), ConversationError> {
    let request = ConnectRequest {
        // Short, so that a session that the owner wins back and loses again does not outlive the owner's own timeout.
        timeout: 1_000,
        session_id,
        password: Some(session_password(session_id).to_vec().into()),
        ..ConnectRequest::default()
    };
    Conversation::connect(server, request).await?.close().await.map(drop)
}

/// Deletes a node, and returns whether it was there and had no children.
pub(crate) async fn delete(conversation: &mut Conversation, path: &str) -> io::Result<bool> {
    let delete = Delete { path: path.to_owned(), version: -1 };
    Ok(answer(conversation, Request::Delete(delete)).await?.is_ok())
}

async fn ephemerals(conversation: &mut Conversation, path: &str) -> io::Result<Vec<(String, i64)>> {
    let (mut open, mut found) = (vec![path.to_owned()], Vec::new());
    while let Some(path) = open.pop() {
        open.extend(children(conversation, &path).await?);
        if let Some(stat) = stat(conversation, &path).await?
            && stat.ephemeral_owner != 0
        {
            found.push((path, stat.ephemeral_owner));
        }
    }
    Ok(found)
}

/// Returns the full paths of the children of a node in the order of their numbers. There are none without the node.
pub(crate) async fn children(conversation: &mut Conversation, path: &str) -> io::Result<Vec<String>> {
    let request = Request::GetChildren { path: path.to_owned(), watch: false };
    let Some(Response::Children(mut names)) = answered(conversation, request).await? else {
        return Ok(Vec::new());
    };
    names.sort_by_key(|name| name.rsplit('-').next().map(str::to_owned));
    Ok(names.into_iter().map(|name| format!("{path}/{name}")).collect())
}

pub(crate) async fn stat(conversation: &mut Conversation, path: &str) -> io::Result<Option<Stat>> {
    let request = Request::Exists { path: path.to_owned(), watch: false };
    match answered(conversation, request).await? {
        Some(Response::Stat(stat)) => Ok(Some(stat)),
        _ => Ok(None),
    }
}

/// Returns the answer, or `None` if the node does not exist.
async fn answered(conversation: &mut Conversation, request: Request) -> io::Result<Option<Response>> {
    match answer(conversation, request).await? {
        Ok(response) => Ok(Some(response)),
        Err(ErrorCode::NO_NODE) => Ok(None),
        Err(code) => Err(io::Error::other(format!("a server answers {code:?}"))),
    }
}

async fn answer(
    conversation: &mut Conversation,
    request: Request,
) -> io::Result<Result<Response, ErrorCode>> {
    let reply = in_time(conversation.call(request)).await?;
    Ok(reply.outcome)
}

async fn close(conversation: Conversation) {
    // The session ends soon in any case.
    let _ = in_time(conversation.close()).await;
}

async fn in_time<T>(call: impl Future<Output = Result<T, ConversationError>>) -> io::Result<T> {
    let answer = timeout(WITHIN, call).await.map_err(|_| io::Error::other("a server is silent"))?;
    answer.map_err(io::Error::other)
}

/// The pause between two rounds of deletions.
const PAUSE: Duration = Duration::from_millis(10);
/// The time limit for one answer.
const WITHIN: Duration = Duration::from_secs(3);
/// The number of times that each server is asked to end a session.
const SESSION_TRIES: u32 = 8;

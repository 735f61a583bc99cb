//! The schemes, and the sessions of their contenders.

use std::time::Duration;

use clap::ValueEnum;
use zklock::Config;
use zookeeper_client::{Acls, CreateMode};

use crate::contender::Contender;
use crate::herd::Node;
use crate::parents::create_with_parents;
use crate::program::Failure;

/// A way in which contenders wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scheme {
    /// All create the same node; the others watch it.
    OneNode,
    /// Sequential nodes, whose parent all contenders watch.
    AllWatchParent,
    /// Sequential nodes, each watched by the next one: zklock with a client for each contender.
    Predecessor,
    /// A queue in the memory of each session, with one node: zklock with fewer clients than contenders.
    LocalQueue,
}

/// A scheme, and the number of its contenders and of their sessions.
pub(crate) struct Measurement {
    pub(crate) scheme: Scheme,
    pub(crate) contenders: u32,
    pub(crate) sessions: u32,
}

impl Measurement {
    /// Returns all measurements with this number of contenders, which share this number of sessions in the last one.
    pub(crate) fn all(contenders: u32, sessions: u32) -> Vec<Self> {
        let each = [Scheme::OneNode, Scheme::AllWatchParent, Scheme::Predecessor];
        let of = |scheme, sessions| Self { scheme, contenders, sessions };
        let each = each.into_iter().map(|scheme| of(scheme, contenders));
        each.chain([of(Scheme::LocalQueue, sessions)]).collect()
    }

    /// Opens the sessions.
    pub(crate) async fn connect(&self, server: &str, namespace: &str) -> Result<Vec<Contender>, Failure> {
        match self.scheme {
            Scheme::OneNode => self.raw(server, namespace, Node::Same).await,
            Scheme::AllWatchParent => self.raw(server, namespace, Node::Sequential).await,
            Scheme::Predecessor | Scheme::LocalQueue => self.zklock(server, namespace).await,
        }
    }

    async fn raw(&self, server: &str, namespace: &str, node: Node) -> Result<Vec<Contender>, Failure> {
        let (lock, mut contenders) = (format!("{namespace}/lock"), Vec::new());
        for _ in 0..self.contenders {
            let connector = zookeeper_client::Client::connector().with_session_timeout(SESSION);
            let client = connector.connect(server).await?;
            contenders.push(Contender::Raw(client, node, lock.clone()));
        }
        if let Some(Contender::Raw(client, ..)) = contenders.first() {
            create_with_parents(client, namespace).await?;
            // The server deletes a container that is empty for a moment.
            client.create(&lock, b"", &CreateMode::Persistent.with_acls(Acls::anyone_all())).await?;
        }
        Ok(contenders)
    }

    async fn zklock(&self, server: &str, namespace: &str) -> Result<Vec<Contender>, Failure> {
        let (lock, mut clients) = (format!("{namespace}/lock"), Vec::new());
        for _ in 0..self.sessions {
            let config = Config::new(server).session_timeout(SESSION).default_wait(Duration::MAX);
            clients.push(config.connect().await?);
        }
        let clients = clients.iter().cycle().take(self.contenders as usize);
        clients.map(|client| Ok(Contender::Zklock(client.clone(), client.mutex(&*lock)?))).collect()
    }
}

const SESSION: Duration = Duration::from_secs(30);

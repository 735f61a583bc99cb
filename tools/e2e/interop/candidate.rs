//! Candidates of both languages, in this process and in Java processes of their own. Each records when it leads.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use zklock::{Client, LeaderLatch, LeaderSelector, Standing};

use crate::peer::{Actor, Peer};
use crate::record::{Diary, Record};
use crate::support::Space;

pub(crate) const PATH: &str = "/office";
/// The mode of a leader in a record.
const MODE: &str = "exclusive";

pub(crate) struct Candidate {
    diary: Arc<Diary>,
    side: Side,
}

enum Side {
    Java(Peer, Actor),
    /// The task leads.
    Latch(Client, Arc<LeaderLatch>, JoinHandle<()>),
    Selector(Client, LeaderSelector),
}

impl Candidate {
    pub(crate) async fn in_java(space: &Space, recipe: &str, id: &str, record: &Record) -> Self {
        let (peer, file) = (space.mortal_peer(), record.path().display());
        // The lock that the actor opens is not used.
        let mut actor = peer.actor("mutex", &space.full("/unused")).await;
        actor.ask(&format!("run {recipe} {} {id} {file}", space.full(PATH))).await;
        Self { diary: Arc::new(record.diary(id)), side: Side::Java(peer, actor) }
    }

    pub(crate) async fn in_rust(space: &Space, recipe: &str, id: &str, record: &Record) -> Self {
        let (client, diary) = (space.client("by default").await, Arc::new(record.diary(id)));
        let (election, own) = (client.election(PATH).unwrap().identity(id).unwrap(), diary.clone());
        let side = match recipe {
            "latch" => {
                let latch = Arc::new(election.latch());
                let leading = tokio::spawn(lead_with(latch.clone(), own));
                Side::Latch(client, latch, leading)
            }
            _ => Side::Selector(client, election.select(move |_| lead(own.clone()))),
        };
        Self { diary, side }
    }

    pub(crate) fn id(&self) -> &str {
        &self.diary.name
    }

    /// Returns the ids of all candidates as this one lists them, with the leader's marked.
    pub(crate) async fn listed(&mut self) -> String {
        let listed = match &mut self.side {
            Side::Java(_, actor) => return actor.ask("candidates").await,
            Side::Latch(_, latch, _) => latch.participants().await,
            Side::Selector(_, selector) => selector.participants().await,
        };
        let mark = |standing| if standing == Standing::Holds { "*" } else { "" };
        let listed = listed.unwrap().into_iter().map(|one| format!("{}{}", mark(one.standing), one.identity));
        listed.collect::<Vec<_>>().join(" ")
    }

    /// Leaves the election. The Java process must live until the candidate's node is gone.
    #[must_use]
    pub(crate) async fn leave(self) -> Option<Peer> {
        match self.side {
            Side::Java(peer, mut actor) => {
                actor.ask("leave").await;
                return Some(peer);
            }
            Side::Latch(_, latch, leading) => {
                end(leading).await;
                Arc::into_inner(latch).expect("the task has ended").close().await.unwrap();
            }
            Side::Selector(_, selector) => drop(selector.close().await.unwrap()),
        }
        None
    }

    /// Kills the Java process, as in a crash, or ends the session in this process.
    pub(crate) async fn kill(self) {
        match self.side {
            Side::Java(peer, _) => {
                drop(peer);
                // The killed leader cannot write this line itself.
                self.diary.leave(MODE);
            }
            Side::Latch(client, _, leading) => {
                end(leading).await;
                client.shutdown(Duration::ZERO).await;
            }
            Side::Selector(client, _) => client.shutdown(Duration::ZERO).await,
        }
    }
}

async fn lead_with(latch: Arc<LeaderLatch>, diary: Arc<Diary>) {
    let term = latch.leadership().await.unwrap();
    term.run(lead(diary)).await.unwrap_err();
}

async fn lead(diary: Arc<Diary>) {
    struct Inside(Arc<Diary>);
    impl Drop for Inside {
        fn drop(&mut self) {
            self.0.leave(MODE);
        }
    }
    diary.enter(MODE);
    let _inside = Inside(diary);
    pending().await
}

async fn end(leading: JoinHandle<()>) {
    leading.abort();
    assert!(leading.await.unwrap_err().is_cancelled());
}

//! Candidates of both languages: in this process, in the shared Java process, and in processes of their own.
//!
//! A Rust candidate in its own process is this test binary, run for a single test of `election` with its
//! parameters in the environment.

use std::future::{pending, ready};
use std::path::Path;
use std::sync::Arc;

use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::ChildStdout;
use zklock::{Client, LeaderLatch, LeaderSelector, Standing};

use crate::peer::{Actor, Peer};
use crate::record::{Diary, Record};
use crate::shared::process::{self, Orders, report};
use crate::support::{Space, mortal_config, soon, until};

pub(crate) const PATH: &str = "/office";
/// The mode of a leader in a record.
pub(crate) const MODE: &str = "exclusive";
/// The test that runs as a candidate in another process, where its case does not matter.
const PROCESS: &str = "election::killed_leaders_of_java_and_rust_are_followed_in_turn_and_one_leads_at_a_time::recipe_1___latch__";
const RECIPE: &str = "ZKLOCK_INTEROP_CANDIDATE_RECIPE";
const ID: &str = "ZKLOCK_INTEROP_CANDIDATE_ID";
const RECORD: &str = "ZKLOCK_INTEROP_CANDIDATE_RECORD";
/// The prefix of each answer of a candidate in another process.
const ANSWER: &str = "candidates: ";

/// A zklock candidate in this process.
pub(crate) enum Candidate {
    Latch(LeaderLatch),
    Selector(LeaderSelector),
}

impl Candidate {
    pub(crate) fn run(client: &Client, recipe: &str, id: &str) -> Self {
        let election = client.election(PATH).unwrap().identity(id).unwrap();
        match recipe {
            "latch" => Self::Latch(election.latch()),
            _ => Self::Selector(election.select(|_| pending::<()>())),
        }
    }

    pub(crate) fn leads(&self) -> bool {
        match self {
            Self::Latch(latch) => latch.is_leader(),
            Self::Selector(selector) => selector.has_leadership(),
        }
    }

    /// Returns the ids of all candidates, with the leader's marked as in Java.
    pub(crate) async fn listed(&self) -> String {
        let listed = match self {
            Self::Latch(latch) => latch.participants().await,
            Self::Selector(selector) => selector.participants().await,
        };
        let mark = |standing| if standing == Standing::Holds { "*" } else { "" };
        let listed = listed.unwrap().into_iter().map(|one| format!("{}{}", mark(one.standing), one.identity));
        listed.collect::<Vec<_>>().join(" ")
    }

    pub(crate) async fn leave(self) {
        match self {
            Self::Latch(latch) => latch.close().await.unwrap(),
            Self::Selector(selector) => drop(selector.close().await.unwrap()),
        }
    }
}

/// Runs a candidate in a Java process.
pub(crate) async fn run_in_java(peer: &Peer, space: &Space, recipe: &str, id: &str) -> Actor {
    run_with(peer, space, &format!("run {recipe} {} {id}", space.full(PATH))).await
}

async fn run_with(peer: &Peer, space: &Space, order: &str) -> Actor {
    // The lock that the actor opens is not used.
    let mut actor = peer.actor("mutex", &space.full("/unused")).await;
    actor.ask(order).await;
    actor
}

/// Returns the parameters of a candidate, or `None` if the test runs as part of the suite.
pub(crate) fn orders() -> Option<(Orders, [String; 3])> {
    Orders::read([RECIPE, ID, RECORD])
}

/// Runs as a candidate, which records when it leads, answers each line of its input with the list of
/// candidates, and leaves when its input ends.
pub(crate) async fn run_for_office(
    (Orders { connect, namespace }, [recipe, id, record]): (Orders, [String; 3]),
) {
    let diary = Arc::new(Diary::new(Path::new(&record), &id));
    let client = mortal_config(&connect, &namespace).connect().await.unwrap();
    let election = client.election(PATH).unwrap().identity(id).unwrap();
    let candidate = match &*recipe {
        "latch" => Candidate::Latch(election.latch()),
        _ => {
            let diary = diary.clone();
            Candidate::Selector(election.select(move |_| lead(diary.clone())))
        }
    };
    tokio::select! {
        () = answer(&candidate) => {}
        () = lead_with(&candidate, diary) => {}
    }
    candidate.leave().await;
}

async fn answer(candidate: &Candidate) {
    let mut orders = BufReader::new(tokio::io::stdin()).lines();
    while orders.next_line().await.unwrap().is_some() {
        report(&format!("{ANSWER}{}", candidate.listed().await));
    }
}

/// Leads whenever a latch is elected. A selector does so automatically.
async fn lead_with(candidate: &Candidate, diary: Arc<Diary>) {
    let Candidate::Latch(latch) = candidate else { return pending().await };
    loop {
        let term = latch.leadership().await.unwrap();
        term.run(lead(diary.clone())).await.unwrap_err();
    }
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

/// A candidate in its own process, which records when it leads. It is killed on drop.
pub(crate) struct Mortal {
    pub(crate) id: String,
    process: Process,
}

enum Process {
    Java(Peer, Actor),
    Rust(process::Process, Lines<BufReader<ChildStdout>>),
}

impl Mortal {
    pub(crate) async fn in_java(space: &Space, recipe: &str, id: &str, record: &Record) -> Self {
        let (peer, file) = (space.mortal_peer(), record.path().display());
        let order = format!("run {recipe} {} {id} {file}", space.full(PATH));
        let actor = run_with(&peer, space, &order).await;
        Self { id: id.to_owned(), process: Process::Java(peer, actor) }
    }

    pub(crate) fn in_rust(space: &Space, recipe: &str, id: &str, record: &Record) -> Self {
        let record = record.path().display().to_string();
        let parameters = [(RECIPE, recipe.to_owned()), (ID, id.to_owned()), (RECORD, record)];
        let mut child = process::Process::start(PROCESS, space, parameters);
        let output = BufReader::new(ChildStdout::from_std(child.output()).unwrap()).lines();
        Self { id: id.to_owned(), process: Process::Rust(child, output) }
    }

    /// Returns the ids of all candidates as this one lists them, with the leader's marked.
    pub(crate) async fn listed(&mut self) -> String {
        match &mut self.process {
            Process::Java(_, actor) => actor.ask("candidates").await,
            Process::Rust(child, output) => {
                child.tell("candidates");
                soon(next_answer(output)).await
            }
        }
    }

    /// Kills the process (SIGKILL), as in a crash.
    pub(crate) fn kill(&mut self) {
        match &mut self.process {
            Process::Java(peer, _) => peer.kill(),
            Process::Rust(child, _) => child.0.kill().unwrap(),
        }
    }

    /// Leaves the election. The process must still be alive.
    pub(crate) async fn leave(&mut self) {
        match &mut self.process {
            Process::Java(_, actor) => drop(actor.ask("leave").await),
            Process::Rust(child, _) => {
                drop(child.0.stdin.take());
                until(|| ready(child.0.try_wait().unwrap().is_some()), "the candidate ends").await;
                assert!(child.0.wait().unwrap().success());
            }
        }
    }
}

/// The test harness prints in front of the first answer.
async fn next_answer(output: &mut Lines<BufReader<ChildStdout>>) -> String {
    loop {
        let line = output.next_line().await.unwrap().expect("the candidate answers before it ends");
        if let Some((_, answer)) = line.split_once(ANSWER) {
            return answer.to_owned();
        }
    }
}

//! `LeaderLatch` and `LeaderSelector`, ours and Curator's, in one election.
//!
//! The candidate in Rust that is killed is this test binary, run again for the one test `candidate_process` with
//! its orders in the environment.

use std::future::pending;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};

use rstest_reuse::apply;
use zklock::{Client, LeaderLatch, LeaderSelector, Standing};

use crate::peer::{Actor, Peer};
use crate::support::{Kind, Space, mortal_config, on_both_servers, soon, until};

const PATH: &str = "/office";
/// The test that is a candidate in another process.
const CANDIDATE: &str = "election::candidate_process";
const CONNECT: &str = "ZKLOCK_INTEROP_CANDIDATE_CONNECT";
const NAMESPACE: &str = "ZKLOCK_INTEROP_CANDIDATE_NAMESPACE";
const RECIPE: &str = "ZKLOCK_INTEROP_CANDIDATE_RECIPE";
const LEADING: &str = "the candidate leads";
const RECIPES: [&str; 2] = ["latch", "selector"];
/// Of each language.
const CANDIDATES: usize = 3;

/// One of ours.
enum Candidate {
    Latch(LeaderLatch),
    Selector(LeaderSelector),
}

impl Candidate {
    fn run(client: &Client, recipe: &str, id: &str) -> Self {
        let election = client.election(PATH).unwrap().identity(id).unwrap();
        match recipe {
            "latch" => Self::Latch(election.latch()),
            _ => Self::Selector(election.select(|_| pending::<()>())),
        }
    }

    fn leads(&self) -> bool {
        match self {
            Self::Latch(latch) => latch.is_leader(),
            Self::Selector(selector) => selector.has_leadership(),
        }
    }

    /// The ids of all candidates, the leader's marked as Java does.
    async fn listed(&self) -> String {
        let listed = match self {
            Self::Latch(latch) => latch.participants().await,
            Self::Selector(selector) => selector.participants().await,
        };
        let mark = |standing| if standing == Standing::Holds { "*" } else { "" };
        let listed = listed.unwrap().into_iter().map(|one| format!("{}{}", mark(one.standing), one.identity));
        listed.collect::<Vec<_>>().join(" ")
    }

    async fn leave(self) {
        match self {
            Self::Latch(latch) => latch.close().await.unwrap(),
            Self::Selector(selector) => drop(selector.close().await.unwrap()),
        }
    }
}

async fn run_in_java(peer: &Peer, space: &Space, recipe: &str, id: &str) -> Actor {
    // What else it opens is not used.
    let mut actor = peer.actor("mutex", &space.full("/unused")).await;
    actor.ask(&format!("run {recipe} {} {id}", space.full(PATH))).await;
    actor
}

async fn until_leads(candidate: &Candidate) {
    until(|| async { candidate.leads() }, "it leads").await;
}

/// Not a test of its own: the process that a test below kills. It ends with its input.
#[tokio::test]
async fn candidate_process() {
    let [connect, namespace, recipe] = [CONNECT, NAMESPACE, RECIPE].map(std::env::var);
    let (Ok(connect), Ok(namespace), Ok(recipe)) = (connect, namespace, recipe) else { return };
    let client = mortal_config(&connect, &namespace).connect().await.unwrap();
    let candidate = Candidate::run(&client, &recipe, "mortal");
    until_leads(&candidate).await;
    writeln!(std::io::stdout(), "{LEADING}").unwrap();
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}

/// A leader in another process in Rust; it is killed when this is dropped.
struct Leader(Child);

impl Leader {
    fn start(space: &Space, recipe: &str) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", CANDIDATE, "--nocapture"])
            .env(CONNECT, space.connect_string())
            .env(NAMESPACE, &space.namespace)
            .env(RECIPE, recipe)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        let leader = Self(child);
        assert!(lines.any(|line| line.contains(LEADING)), "the candidate ended without a word");
        leader
    }
}

impl Drop for Leader {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Three of each language run in turn and lead in that order, one at a time, each until it leaves.
async fn leadership_goes_to_and_fro(kind: Kind, recipe: &str) {
    let space = Space::new(kind);
    let (mut theirs, mut ours) = (Vec::new(), Vec::new());
    for number in 0..CANDIDATES {
        let id = format!("java-{number}");
        theirs.push(run_in_java(space.peer(), &space, recipe, &id).await);
        space.until_queued(PATH, 2 * number + 1).await;
        let id = format!("rust-{number}");
        ours.push(Candidate::run(&space.client("by default").await, recipe, &id));
        space.until_queued(PATH, 2 * number + 2).await;
    }
    let mut ids: Vec<_> =
        (0..CANDIDATES).flat_map(|number| ["java", "rust"].map(|side| format!("{side}-{number}"))).collect();
    while !ours.is_empty() {
        let mut leader = theirs.remove(0);
        assert_eq!(leader.event().await, "leads");
        let listed = format!("*{}", ids.join(" "));
        assert_eq!((leader.ask("candidates").await, ours[0].listed().await), (listed.clone(), listed));
        assert!(!ours.iter().any(Candidate::leads));
        leader.order("leave");
        ids.remove(0);
        until_leads(&ours[0]).await;
        theirs.iter_mut().for_each(Actor::assert_busy);
        assert_eq!(ours[0].listed().await, format!("*{}", ids.join(" ")));
        assert_eq!(ours.iter().filter(|candidate| candidate.leads()).count(), 1);
        ours.remove(0).leave().await;
        ids.remove(0);
    }
    space.until_queued(PATH, 0).await;
}

#[apply(on_both_servers)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn latches_of_java_and_rust_lead_in_turn_and_list_each_other(kind: Kind) {
    leadership_goes_to_and_fro(kind, "latch").await;
}

#[apply(on_both_servers)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn selectors_of_java_and_rust_lead_in_turn_and_list_each_other(kind: Kind) {
    leadership_goes_to_and_fro(kind, "selector").await;
}

#[apply(on_both_servers)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_java_leader_is_followed_by_one_in_rust(kind: Kind) {
    for recipe in RECIPES {
        let space = Space::new(kind);
        let mut peer = space.mortal_peer();
        let mut leader = run_in_java(&peer, &space, recipe, "mortal").await;
        assert_eq!(leader.event().await, "leads");
        let ours = Candidate::run(&space.client("by default").await, recipe, "ours");
        space.until_queued(PATH, 2).await;
        assert_eq!(ours.listed().await, "*mortal ours");
        assert!(!ours.leads());
        peer.kill();
        until_leads(&ours).await;
        assert_eq!(ours.listed().await, "*ours");
        ours.leave().await;
    }
}

#[apply(on_both_servers)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_rust_leader_is_followed_by_one_in_java(kind: Kind) {
    for recipe in RECIPES {
        let space = Space::new(kind);
        let mut leader = Leader::start(&space, recipe);
        let mut theirs = run_in_java(space.peer(), &space, recipe, "theirs").await;
        space.until_queued(PATH, 2).await;
        assert_eq!(theirs.ask("candidates").await, "*mortal theirs");
        theirs.assert_busy();
        leader.0.kill().unwrap();
        assert_eq!(soon(theirs.event()).await, "leads");
        assert_eq!(theirs.ask("candidates").await, "*theirs");
        theirs.order("leave");
        space.until_queued(PATH, 0).await;
    }
}

//! Random clients talk to two servers in lockstep, and both servers must give the same answers.
//!
//! A run is a few sessions that take turns. Each turn sends some requests at once and waits for all answers,
//! so that both servers see one order. The events and answers of each session must be equal and in the same
//! order, apart from values that have to differ: see [`view`].

mod fixed;
mod script;
mod side;
mod view;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use libtest_mimic::{Failed, Trial};
use proptest::test_runner::{Config, TestCaseError, TestRunner};

use crate::server::{Extras, Kind, Options, Running};
use script::{Root, Script};
use side::Side;
use view::Zxids;

/// The servers that are compared.
const PAIRS: [(Kind, Kind); 1] = [(Kind::Embedded, Kind::Real)];

/// The number of runs, with three sessions or more each.
const RUNS: u32 = 2_600;

/// The least number of sessions in all runs.
const LEAST_SESSIONS: usize = 10_000;

pub(crate) fn trials() -> Vec<Trial> {
    PAIRS
        .map(|(one, other)| {
            Trial::test(format!("random::{one}_against_{other}"), move || compare(one, other))
        })
        .into()
}

/// The numbers of things that were compared.
#[derive(Default)]
struct Tally {
    runs: AtomicUsize,
    sessions: AtomicUsize,
    messages: AtomicUsize,
}

impl Tally {
    fn add(&self, sessions: usize, messages: usize) {
        self.sessions.fetch_add(sessions, Ordering::Relaxed);
        self.messages.fetch_add(messages, Ordering::Relaxed);
    }
}

#[expect(clippy::print_stdout, reason = "the tally is shown to the user")]
fn compare(one: Kind, other: Kind) -> Result<(), Failed> {
    // Only the sessions of a run may cause transactions.
    let options = Options {
        container_check_interval: Duration::from_secs(36_000),
        extras: Extras::All,
        ..Options::default()
    };
    let servers = [one.start(&options), other.start(&options)];
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let tally = Tally::default();
    let start = Instant::now();
    let mut differences = Vec::new();
    let compared = fixed::SUBJECTS.map(|subject| (subject, Zxids::Compared));
    for ((subject, turns), zxids) in compared.into_iter().chain([(fixed::MALFORMED, Zxids::Hidden)]) {
        let root = Root(format!("/f-{}", subject.replace(' ', "-")));
        let script = Script { sessions: 2, zxids, turns: turns(&root) };
        let result = runtime.block_on(run(&servers, &root.0, &script, &tally));
        differences.extend(result.err().map(|difference| format!("{subject}: {difference}")));
    }
    if !differences.is_empty() {
        return Err(differences.join("\n").into());
    }
    let config = Config { cases: RUNS, failure_persistence: None, ..Config::default() };
    let result = TestRunner::new(config).run(&script::scripts(), |script| {
        let root = format!("/r-{}", tally.runs.load(Ordering::Relaxed));
        runtime.block_on(run(&servers, &root, &script, &tally)).map_err(TestCaseError::fail)
    });
    let [runs, sessions, messages] =
        [&tally.runs, &tally.sessions, &tally.messages].map(|count| count.load(Ordering::Relaxed));
    println!(
        "random: {one} against {other}: {sessions} sessions in {runs} runs, {messages} messages of each compared in {:.1?}",
        start.elapsed()
    );
    result.map_err(|error| error.to_string())?;
    if sessions < LEAST_SESSIONS {
        return Err(format!("only {sessions} sessions were compared").into());
    }
    Ok(())
}

/// Plays a script on both servers, and returns the first difference as an error.
async fn run(servers: &[Running; 2], root: &str, script: &Script, tally: &Tally) -> Result<(), String> {
    tally.runs.fetch_add(1, Ordering::Relaxed);
    let [one, other] = servers;
    let (mut one, mut other) = tokio::join!(Side::open(one, root, script), Side::open(other, root, script));
    for (index, turn) in script.turns.iter().enumerate() {
        let (left, right) = tokio::join!(one.take(turn), other.take(turn));
        if left != right {
            return Err(format!("at turn {index}, {turn:?}\none:   {left:#?}\nother: {right:#?}"));
        }
        tally.add(0, left.len());
    }
    let (left, right) = tokio::join!(one.end(), other.end());
    if left != right {
        return Err(format!("at the end\none:   {left:#?}\nother: {right:#?}"));
    }
    tally.add(one.sessions(), left.len());
    Ok(())
}

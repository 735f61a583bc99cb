//! Random clients talk to two servers in lockstep, which must say the same.
//!
//! A run is a few sessions that take turns: each turn sends some requests at once and waits for all answers,
//! so that both servers see one order. What each session is told, events and answers in their order, must be
//! equal once what must differ has been taken out: see [`view`].

mod script;
mod side;
mod view;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use libtest_mimic::{Failed, Trial};
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use tokio::runtime::Runtime;

use crate::server::{Kind, Options, Running};
use script::Script;
use side::Side;

/// Which servers are compared.
const PAIRS: [(Kind, Kind); 1] = [(Kind::Embedded, Kind::Real)];

/// How many runs there are, of three sessions or more each.
const RUNS: u32 = 2_600;

/// How many sessions these are at least.
const LEAST_SESSIONS: usize = 10_000;

pub(crate) fn trials() -> Vec<Trial> {
    PAIRS
        .map(|(one, other)| {
            Trial::test(format!("random::{one}_against_{other}"), move || compare(one, other))
        })
        .into()
}

/// How much was compared.
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

#[expect(clippy::print_stdout, reason = "how much was compared is for whoever runs the test")]
fn compare(one: Kind, other: Kind) -> Result<(), Failed> {
    // Nothing but the sessions of a run may cause a transaction.
    let options = Options { container_check_interval: Duration::from_secs(36_000), ..Options::default() };
    let servers = [one.start(&options), other.start(&options)];
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let tally = Tally::default();
    let start = Instant::now();
    let config = Config { cases: RUNS, failure_persistence: None, ..Config::default() };
    let result =
        TestRunner::new(config).run(&script::scripts(), |script| run(&runtime, &servers, &script, &tally));
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

fn run(
    runtime: &Runtime,
    servers: &[Running; 2],
    script: &Script,
    tally: &Tally,
) -> Result<(), TestCaseError> {
    let number = tally.runs.fetch_add(1, Ordering::Relaxed);
    let root = format!("/r-{number}");
    runtime.block_on(async {
        let [one, other] = servers;
        let (mut one, mut other) =
            tokio::join!(Side::open(one, &root, script.sessions), Side::open(other, &root, script.sessions));
        for (index, turn) in script.turns.iter().enumerate() {
            let (left, right) = tokio::join!(one.take(turn), other.take(turn));
            if left != right {
                let report = format!("at turn {index}, {turn:?}\none:   {left:#?}\nother: {right:#?}");
                return Err(TestCaseError::fail(report));
            }
            tally.add(0, left.len());
        }
        let (left, right) = tokio::join!(one.end(), other.end());
        if left != right {
            return Err(TestCaseError::fail(format!("at the end\none:   {left:#?}\nother: {right:#?}")));
        }
        tally.add(one.sessions(), left.len());
        Ok(())
    })
}

//! Random clients talk to two servers in lockstep, and both servers must give the same answers.
//!
//! A run is a few sessions that take turns. Each turn sends some requests at once and waits for all answers,
//! so that both servers see one order. The events and answers of each session must be equal and in the same
//! order, apart from values that have to differ: see [`view`].

mod fixed;
mod script;
mod side;
mod view;

use std::time::Duration;

use proptest::test_runner::{Config, TestCaseError, TestRunner};

use crate::server::{Kind, Options, Running};
use script::Script;
use side::Side;
use view::Zxids;

/// The number of runs, with three sessions or more each.
const RUNS: u32 = 2_600;

#[test]
fn embedded_and_real_servers_answer_scripts_alike() {
    // Only the sessions of a run may cause transactions.
    let options = Options {
        container_check_interval: Duration::from_secs(36_000),
        has_extras: true,
        ..Options::default()
    };
    let servers = [Kind::Embedded, Kind::Real].map(|kind| kind.start(&options));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut differences = Vec::new();
    let compared = fixed::SUBJECTS.map(|subject| (subject, Zxids::Compared));
    for ((subject, turns), zxids) in compared.into_iter().chain([(fixed::MALFORMED, Zxids::Hidden)]) {
        let script = Script { sessions: 2, zxids, turns: turns() };
        let result = runtime.block_on(run(&servers, &script));
        differences.extend(result.err().map(|difference| format!("{subject}: {difference}")));
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    let config = Config { cases: RUNS, failure_persistence: None, ..Config::default() };
    let run = |script| runtime.block_on(run(&servers, &script)).map_err(TestCaseError::fail);
    TestRunner::new(config).run(&script::scripts(), run).unwrap_or_else(|error| panic!("{error}"));
}

/// Plays a script on both servers, and returns the first difference as an error.
async fn run(servers: &[Running; 2], script: &Script) -> Result<(), String> {
    let [one, other] = servers;
    let (mut one, mut other) = tokio::join!(Side::open(one, script), Side::open(other, script));
    for (index, turn) in script.turns.iter().enumerate() {
        let (left, right) = tokio::join!(one.take(turn), other.take(turn));
        if left != right {
            return Err(format!("at turn {index}, {turn:?}\none:   {left:#?}\nother: {right:#?}"));
        }
    }
    let (left, right) = tokio::join!(one.end(), other.end());
    if left != right {
        return Err(format!("at the end\none:   {left:#?}\nother: {right:#?}"));
    }
    Ok(())
}

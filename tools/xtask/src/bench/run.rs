//! The measurements of one run.

use std::fs;

use super::figures::Figures;
use super::machine;
use super::results::{Record, Results};
use super::scenarios::{ALONE, CONTENDERS, CROWD, CURATOR, Scenario, ZKLOCK, contenders};
use super::server::Server;
use crate::built::Built;
use crate::step::{Outcome, Step};

/// The programs and the server of a run, and its results so far.
pub(crate) struct Run {
    built: Built,
    server: Server,
    results: Results,
    rounds: u32,
    /// The length of one measurement.
    seconds: f64,
}

impl Run {
    /// Builds the programs, starts the server, and lets it warm up.
    pub(crate) fn start(rounds: u32, seconds: f64) -> Outcome<Self> {
        let (built, _) = Built::benches()?;
        let server = Server::start(&built.example("with_zookeeper")?.path)?;
        let mut machine = machine::described(&server)?;
        machine["rounds"] = rounds.into();
        machine["seconds"] = seconds.into();
        machine["crowd_seconds"] = seconds.max(CROWD_SECONDS).into();
        let results = Results::begin(machine)?;
        let run = Self { built, server, results, rounds, seconds };
        for arguments in WARM_UP {
            run.line("contention", &format!("{arguments} --server {}", run.server.address()))?;
        }
        Ok(run)
    }

    /// Measures all clients of a scenario in rounds.
    pub(crate) fn measure(&mut self, scenario: &Scenario) -> Outcome {
        for _ in 0..self.rounds {
            for (client, arguments) in scenario.clients() {
                self.contend(scenario.name, &client, &arguments, self.seconds)?;
            }
        }
        Ok(())
    }

    /// Measures the ways to wait for a lock, and Curator with as many contenders.
    pub(crate) fn schemes(&mut self) -> Outcome {
        for _ in 0..self.rounds {
            for count in CONTENDERS {
                let scenario = contenders(count);
                let seconds = if count >= CROWD { self.seconds.max(CROWD_SECONDS) } else { self.seconds };
                let arguments = format!("mutex --client curator --sessions {count}");
                self.contend(&scenario, CURATOR, &arguments, seconds)?;
                if let Some(tasks) = count.checked_div(SESSIONS).filter(|tasks| *tasks > 1) {
                    let arguments = format!("mutex --client curator --sessions {SESSIONS} --tasks {tasks}");
                    self.contend(&scenario, &format!("{CURATOR}{SHARED}"), &arguments, seconds)?;
                }
                let load = load()?;
                let server = self.server.address();
                let output = self.output(
                    "schemes",
                    &format!(
                        "--contenders {count} --sessions {SESSIONS} --seconds {seconds} --server {server}"
                    ),
                )?;
                for line in output.lines().filter_map(|line| line.strip_prefix("scheme ")) {
                    let name = line.split(' ').next().unwrap_or_default();
                    let (client, figures) = (name.to_owned(), Figures::parse(line)?);
                    self.results.add(Record { scenario: scenario.clone(), client, figures, load })?;
                }
            }
        }
        Ok(())
    }

    /// Measures many waiters, locks and sessions, and the takeover, each on a server of its own.
    pub(crate) fn alone(&mut self) -> Outcome {
        for (scenario, program, arguments) in ALONE {
            let load = load()?;
            let line = self.line(program, arguments)?;
            let (client, figures) = (ZKLOCK.to_owned(), Figures::parse(&line)?);
            self.results.add(Record { scenario: scenario.to_owned(), client, figures, load })?;
        }
        Ok(())
    }

    /// Ends the server, and returns the results.
    pub(crate) fn end(self) -> Results {
        self.results
    }

    fn contend(&mut self, scenario: &str, client: &str, arguments: &str, seconds: f64) -> Outcome {
        let load = load()?;
        let server = self.server.address();
        let line = self.line("contention", &format!("{arguments} --seconds {seconds} --server {server}"))?;
        let figures = Figures::parse(&line)?;
        self.results.add(Record { scenario: scenario.to_owned(), client: client.to_owned(), figures, load })
    }

    /// Runs a program, and returns its last line.
    fn line(&self, program: &str, arguments: &str) -> Outcome<String> {
        let output = self.output(program, arguments)?;
        Ok(output.lines().last().unwrap_or_default().to_owned())
    }

    fn output(&self, program: &str, arguments: &str) -> Outcome<String> {
        let step = Step::program(&format!("{program} {arguments}"), &self.built.bench(program)?.path);
        let output = step.arguments(arguments).quiet()?.output;
        println!("{}", output.trim());
        Ok(output)
    }
}

/// Returns the mean number of processes that ran or waited for a processor in the last minute.
fn load() -> Outcome<f64> {
    let text = fs::read_to_string("/proc/loadavg")?;
    Ok(text.split(' ').next().unwrap_or_default().parse()?)
}

/// The least length of a measurement with [`CROWD`] contenders or more.
const CROWD_SECONDS: f64 = 10.0;

/// The number of sessions that contenders share.
const SESSIONS: u32 = 8;

/// The end of the name of a client whose contenders share sessions.
const SHARED: &str = ", shared sessions";

/// Measurements whose figures are not used. They let the server's virtual machine compile its code.
const WARM_UP: [&str; 2] =
    ["distinct --tasks 64 --seconds 5", "mutex --client curator --sessions 8 --seconds 3"];

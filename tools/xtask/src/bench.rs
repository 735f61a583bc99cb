//! The speed of zklock beside that of Curator and kazoo.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Stdio};

use clap::Args;

use crate::step::{Outcome, Step, announce, cargo, root};

mod bars;
mod scenarios;
mod table;

use bars::{Bars, Scale};
use scenarios::{SCENARIOS, Scenario};
use table::{Figures, Table, medians, parse};

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The number of rounds; the table has the medians.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,

    /// Measures only the scenarios whose names contain this text, such as `mutex 1×1` or `distinct`.
    #[arg(long, value_name = "TEXT", default_value = "")]
    scenario: String,

    /// The length of one measurement.
    #[arg(long, default_value_t = 2.5)]
    seconds: f64,

    /// Draws two columns of the table as pictures, in this directory.
    #[arg(long, value_name = "DIR")]
    pictures: Option<PathBuf>,
}

/// Measures each scenario in rounds, and prints a table.
///
/// Within a round, the clients take turns, each in a process of its own, so that a change of the machine's
/// speed meets all of them.
pub(crate) fn run(options: &Options) -> Outcome {
    let scenarios: Vec<_> =
        SCENARIOS.iter().filter(|scenario| scenario.name.contains(&options.scenario)).collect();
    if scenarios.is_empty() {
        let names: Vec<_> = SCENARIOS.iter().map(|scenario| scenario.name).collect();
        return Err(format!("no scenario has `{}`: {}", options.scenario, names.join("; ")).into());
    }
    let server = Server::start()?;
    for arguments in WARM_UP {
        server.measure(arguments)?;
    }
    let mut table = Table::default();
    let mut operations =
        Bars::new("ops_per_s", "Operations per second, on a logarithmic scale", Scale::Logarithmic);
    let mut requests = Bars::new("requests_per_op", "Requests per operation", Scale::Linear);
    for scenario in scenarios {
        let medians = server.medians(scenario, options)?;
        table.add(scenario.name, &medians)?;
        operations.add(scenario.name, &medians)?;
        requests.add(scenario.name, &medians)?;
    }
    if let Some(directory) = &options.pictures {
        fs::create_dir_all(directory)?;
        fs::write(directory.join("operations.svg"), operations.svg()?)?;
        fs::write(directory.join("requests.svg"), requests.svg()?)?;
    }
    announce(&format!("medians of {} rounds of {} s\n\n{table}", options.rounds, options.seconds));
    Ok(())
}

/// The server that all measurements use. It runs as long as the input of the process that holds it is open, and so ends
/// even if this program is killed.
struct Server {
    holder: Child,
    address: String,
}

impl Server {
    /// Starts a server through the example `with_zookeeper`, which also installs Curator if it is missing.
    fn start() -> Outcome<Self> {
        let mut holder = cargo()
            .args(["run", "--locked", "--quiet", "--package", "zklock-testkit", "--features", "real"])
            .args(["--example", "with_zookeeper", "--", "sh", "-c", "echo \"$ZKLOCK_CONNECT\"; exec cat"])
            .current_dir(root())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut address = String::new();
        if let Some(output) = holder.stdout.take() {
            BufReader::new(output).read_line(&mut address)?;
        }
        let server = Self { holder, address: address.trim().to_owned() };
        if server.address.is_empty() {
            return Err("no ZooKeeper was started; its reason is above".into());
        }
        Ok(server)
    }

    /// Measures all clients of a scenario in rounds. Returns the medians of each, in the order of their turns.
    fn medians(&self, scenario: &Scenario, options: &Options) -> Outcome<Vec<(&'static str, Figures)>> {
        let clients = scenario.clients;
        let mut measured = vec![Vec::new(); clients.len()];
        for _ in 0..options.rounds {
            for (client, measured) in clients.iter().zip(&mut measured) {
                let arguments = scenario.arguments(*client);
                let line = self.measure(&format!("{arguments} --seconds {}", options.seconds))?;
                measured.push(parse(&line)?);
            }
        }
        let names = clients.iter().map(|(client, _)| *client);
        Ok(names.zip(measured.iter().map(|figures| medians(figures))).collect())
    }

    /// Makes a measurement, and returns its line.
    fn measure(&self, arguments: &str) -> Outcome<String> {
        let bench = "bench --locked --quiet --package zklock-bench --bench contention --";
        let output = Step::cargo(&format!("{bench} {arguments} --server {}", self.address)).quiet()?.output;
        println!("{}", output.trim());
        Ok(output.lines().last().unwrap_or_default().to_owned())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.holder.stdin.take());
        // A drop cannot report an error.
        let _ = self.holder.wait();
    }
}

/// Measurements whose figures are not used. They let the server's virtual machine compile its code.
const WARM_UP: [&str; 2] =
    ["distinct --tasks 64 --seconds 5", "mutex --client curator --sessions 8 --seconds 3"];

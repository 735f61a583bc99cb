//! The speed of zklock beside that of Curator. Uses only `built` and `step`.
//!
//! * `scenarios`: the measurements that are made, and their arguments.
//! * `line`: the figures of one measurement, and the medians of several.
//! * `table`: the medians and their ratios.
//! * `server`: the server that all measurements use.

use clap::Args;

use crate::built::Built;
use crate::step::{Outcome, Step, announce};

mod line;
mod scenarios;
mod server;
mod table;

use line::Line;
use scenarios::{Client, SCENARIOS, Scenario};
use server::Server;
use table::Table;

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
    let (built, _) = Built::benches()?;
    let contention = built.bench("contention")?;
    let server = Server::start(&built.example("with_zookeeper")?.path)?;
    let measure = |arguments: &str| -> Outcome<Line> {
        let step = Step::program(&format!("contention {arguments}"), &contention.path);
        let step = step.arguments(arguments).arguments(&format!("--server {}", server.address()));
        let output = step.quiet()?.output;
        println!("{}", output.trim());
        Line::parse(&output)
    };
    for arguments in WARM_UP {
        measure(arguments)?;
    }
    let mut table = Table::default();
    for scenario in scenarios {
        table.add(scenario.name, measured(scenario, options, measure)?);
    }
    announce(&format!("medians of {} rounds of {} s\n\n{table}", options.rounds, options.seconds));
    Ok(())
}

/// Returns the medians of the clients.
fn measured(
    scenario: &Scenario,
    options: &Options,
    measure: impl Fn(&str) -> Outcome<Line>,
) -> Outcome<Vec<(Client, Line)>> {
    let mut clients: Vec<_> =
        scenario.clients().map(|(client, arguments)| (client, arguments, Vec::new())).collect();
    for _ in 0..options.rounds {
        for (_, arguments, lines) in &mut clients {
            lines.push(measure(&format!("{arguments} --seconds {}", options.seconds))?);
        }
    }
    Ok(clients.into_iter().map(|(client, _, lines)| (client, Line::median(&lines))).collect())
}

/// Measurements whose figures are not used. They let the server's virtual machine compile its code.
const WARM_UP: [&str; 2] =
    ["distinct --tasks 64 --seconds 5", "mutex --client curator --sessions 8 --seconds 3"];

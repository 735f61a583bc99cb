//! The speed of zklock beside that of Curator and kazoo. Uses only `built` and `step`.
//!
//! * `scenarios`: the measurements that are made beside other libraries, and their arguments.
//! * `run`: the measurements of one run, on a `server` that all of them use.
//! * `machine`: a description of the machine.
//! * `figures`: the figures of one measurement, and the medians of several.
//! * `results`: the results of a run, which are stored.
//! * `table`: the medians and their ratios.
//! * `report`: the documents and pictures with the results.

use clap::Args;

use crate::step::{Outcome, announce};

mod figures;
mod machine;
mod report;
mod results;
mod run;
mod scenarios;
mod server;
mod table;

use results::Results;
use run::Run;
use scenarios::SCENARIOS;
use table::Table;

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The number of rounds; the table has the medians.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,

    /// Measures only the scenarios whose names contain this text, such as `mutex 1×1` or `distinct`.
    #[arg(long, value_name = "TEXT", default_value = "", conflicts_with = "report")]
    scenario: String,

    /// The length of one measurement.
    #[arg(long, default_value_t = 2.5)]
    seconds: f64,

    /// Measures the schemes and the scale, too, and writes docs/performance.md, its pictures and the README's table.
    #[arg(long)]
    report: bool,

    /// Writes the report of the last run, without a measurement.
    #[arg(long, requires = "report")]
    stored: bool,
}

/// Measures each scenario in rounds, stores the results, and prints a table.
///
/// Within a round, the clients take turns, each in a process of its own, so that a change of the machine's
/// speed meets all of them.
pub(crate) fn run(options: &Options) -> Outcome {
    let results = if options.stored { Results::stored()? } else { measured(options)? };
    if options.report { report::write(&results) } else { Ok(()) }
}

fn measured(options: &Options) -> Outcome<Results> {
    let scenarios: Vec<_> =
        SCENARIOS.iter().filter(|scenario| scenario.name.contains(&options.scenario)).collect();
    if scenarios.is_empty() {
        let names: Vec<_> = SCENARIOS.iter().map(|scenario| scenario.name).collect();
        return Err(format!("no scenario has `{}`: {}", options.scenario, names.join("; ")).into());
    }
    let mut run = Run::start(options.rounds, options.seconds)?;
    for scenario in &scenarios {
        run.measure(scenario)?;
    }
    if options.report {
        run.schemes()?;
        run.alone()?;
    }
    let (results, mut table) = (run.end(), Table::default());
    for scenario in scenarios {
        table.add(scenario.name, &results.medians(scenario.name))?;
    }
    announce(&format!("medians of {} of {} s\n\n{table}", results.rounds(), options.seconds));
    Ok(results)
}

//! The time that the compiler needs for annotated functions. Uses only `step`.
//!
//! * `source`: the functions, annotated and with calls written by hand.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;

use crate::step::{Outcome, Step, announce, target};

mod source;

use source::Style;

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The number of functions.
    #[arg(long, default_value_t = 200)]
    functions: usize,

    /// The number of rounds; the table has the medians.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
}

/// Builds a crate of annotated functions and the same crate with the calls written by hand, and prints the ratio.
///
/// The dependencies are built beforehand. Within a round, the crates take turns, so that a change of the machine's
/// speed meets both.
pub(crate) fn run(options: &Options) -> Outcome {
    let crates = [Style::Annotated, Style::ByHand].map(|style| Crate::write(style, options.functions));
    let [annotated, by_hand] = crates;
    let (annotated, by_hand) = (annotated?, by_hand?);
    let mut lines = Vec::new();
    for command in ["check", "build"] {
        let mut took = (Vec::new(), Vec::new());
        annotated.build(command)?;
        by_hand.build(command)?;
        for _ in 0..options.rounds {
            took.0.push(annotated.build(command)?);
            took.1.push(by_hand.build(command)?);
        }
        let (annotated, by_hand) = (median(took.0), median(took.1));
        let ratio = annotated / by_hand;
        lines.push(format!("| `cargo {command}` | {annotated:.2} | {by_hand:.2} | {ratio:.2} |\n"));
    }
    let (functions, rounds) = (options.functions, options.rounds);
    announce(&format!(
        "medians of {rounds} builds of {functions} functions, in seconds\n\n\
         | command | annotated | by hand | ratio |\n|---|---|---|---|\n{}",
        lines.concat()
    ));
    Ok(())
}

/// A crate with one file of source.
struct Crate {
    directory: PathBuf,
    source: PathBuf,
    text: String,
}

impl Crate {
    fn write(style: Style, functions: usize) -> Outcome<Self> {
        let directory = target().join("xtask/build-time").join(style.name());
        fs::create_dir_all(directory.join("src"))?;
        fs::write(directory.join("Cargo.toml"), manifest(style))?;
        // The versions of the dependencies are those of the workspace.
        fs::copy(
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.lock"),
            directory.join("Cargo.lock"),
        )?;
        let source = directory.join("src/lib.rs");
        Ok(Self { directory, source, text: style.text(functions) })
    }

    /// Builds the crate alone, and returns how long that took.
    fn build(&self, command: &str) -> Outcome<Duration> {
        // A file that is written is built again.
        fs::write(&self.source, &self.text)?;
        let step = Step::cargo(&format!("{command} --offline --quiet"));
        let target = self.directory.with_file_name("target");
        let step = step.in_directory(&self.directory).env("CARGO_TARGET_DIR", target);
        Ok(step.env("CARGO_INCREMENTAL", "0").without_warnings().quiet()?.took)
    }
}

fn manifest(style: Style) -> String {
    let zklock = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    format!(
        "[workspace]\n\n[package]\nname = \"{}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
         [dependencies]\nzklock = {{ path = {zklock:?} }}\n",
        style.name()
    )
}

fn median(mut took: Vec<Duration>) -> f64 {
    took.sort_unstable();
    took[took.len() / 2].as_secs_f64()
}

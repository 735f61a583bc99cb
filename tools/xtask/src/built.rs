//! The programs that cargo builds.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::step::{Outcome, Report, Step};

/// The tests, the benchmarks and the examples of one build.
#[derive(Default)]
pub(crate) struct Built {
    pub(crate) tests: Vec<Program>,
    benches: Vec<Program>,
    pub(crate) examples: Vec<Program>,
}

/// A program, and the package that it belongs to.
pub(crate) struct Program {
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    pub(crate) package: PathBuf,
}

impl Built {
    /// Builds the examples, the tests of behaviour, and the tests that `cargo test` leaves out.
    pub(crate) fn for_ci() -> Outcome<(Self, [Report; 2])> {
        let test = |of| format!("test --locked {of} --no-run --message-format json-render-diagnostics");
        // `cargo test` has built and run these.
        let (mut built, first) = Self::by(&test(""))?;
        built.tests.retain(|test| test.name == "it");
        if built.tests.len() != 1 {
            return Err(format!("{} tests have the name `it`", built.tests.len()).into());
        }
        let (others, second) = Self::by(&test(
            "--package zklock-e2e --package zklock-cli --package zklock-chaos --package zklock-example-services \
             --package xtask",
        ))?;
        built.tests.extend(others.tests);
        built.examples.extend(others.examples);
        Ok((built, [first, second]))
    }

    /// Builds the benchmarks that `cargo xtask bench` runs, and the example that starts their server.
    pub(crate) fn benches() -> Outcome<(Self, Report)> {
        Self::by(
            "build --locked --profile bench --package zklock-bench --package zklock-testkit --features zklock-testkit/real --bench contention --example with_zookeeper --message-format json-render-diagnostics",
        )
    }

    /// Runs cargo, and collects the programs that it has built.
    fn by(arguments: &str) -> Outcome<(Self, Report)> {
        let report = Step::cargo(arguments).quiet()?;
        let mut built = Self::default();
        for line in report.output.lines() {
            built.add(&serde_json::from_str(line)?);
        }
        Ok((built, report))
    }

    /// Adds the program of one of cargo's messages, if it has one (*External tools* in the Cargo book).
    fn add(&mut self, message: &Value) {
        let (Some(path), Some(manifest)) =
            (message["executable"].as_str(), message["manifest_path"].as_str())
        else {
            return;
        };
        let Some(package) = Path::new(manifest).parent().map(Path::to_owned) else { return };
        let name = message["target"]["name"].as_str().unwrap_or_default().to_owned();
        let program = Program { name, path: path.into(), package };
        let kind = &message["target"]["kind"][0];
        if kind == "bench" {
            self.benches.push(program);
        } else if message["profile"]["test"] == true {
            self.tests.push(program);
        } else if kind == "example" {
            self.examples.push(program);
        }
    }

    /// Returns the example of this name.
    pub(crate) fn example(&self, name: &str) -> Outcome<&Program> {
        find(&self.examples, name).ok_or_else(|| format!("there is no example {name}").into())
    }

    /// Returns the benchmark of this name.
    pub(crate) fn bench(&self, name: &str) -> Outcome<&Program> {
        find(&self.benches, name).ok_or_else(|| format!("there is no benchmark {name}").into())
    }
}

fn find<'a>(programs: &'a [Program], name: &str) -> Option<&'a Program> {
    programs.iter().find(|program| program.name == name)
}

//! The programs that `cargo test --no-run` builds. Uses only `step`.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::step::{Outcome, Report, Step};

/// The tests and the examples of the workspace.
pub(crate) struct Built {
    pub(crate) tests: Vec<Program>,
    pub(crate) examples: Vec<Program>,
}

/// A program, and the package that it belongs to.
pub(crate) struct Program {
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    pub(crate) package: PathBuf,
}

impl Built {
    /// Builds every test and every example, with one set of features for all of them.
    pub(crate) fn build() -> Outcome<(Self, Report)> {
        let build =
            "test --locked --workspace --all-features --no-run --message-format json-render-diagnostics";
        let report = Step::cargo(build).quiet()?;
        let mut built = Self { tests: Vec::new(), examples: Vec::new() };
        for line in report.output.lines() {
            built.add(&serde_json::from_str(line)?);
        }
        if built.tests.is_empty() || built.examples.is_empty() {
            return Err(format!("`cargo {build}` built no tests or no examples").into());
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
        if message["profile"]["test"] == true {
            self.tests.push(program);
        } else if message["target"]["kind"][0] == "example" {
            self.examples.push(program);
        }
    }

    /// Returns the example of this name.
    pub(crate) fn example(&self, name: &str) -> Outcome<&Program> {
        let found = self.examples.iter().find(|example| example.name == name);
        found.ok_or_else(|| format!("there is no example {name}").into())
    }
}

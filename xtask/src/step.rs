//! One cargo command, announced before it runs.

use std::error::Error;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

pub(crate) type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// Prints the line that announces a step.
pub(crate) fn announce(what: &str) {
    println!("==> {what}");
}

/// A run of the cargo that runs xtask, in the root of the workspace.
#[derive(Debug)]
pub(crate) struct Step {
    line: String,
    command: Command,
}

impl Step {
    /// Prepares the command with these arguments.
    pub(crate) fn cargo(arguments: &str) -> Self {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is a member of a workspace");
        let mut command = Command::new(cargo);
        command.args(arguments.split_whitespace()).current_dir(root);
        Self { line: format!("cargo {arguments}"), command }
    }

    /// Sets an environment variable.
    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.line = format!("{name}={value:?} {}", self.line);
        self.command.env(name, value);
        self
    }

    /// Removes an environment variable.
    pub(crate) fn without_env(mut self, name: &str) -> Self {
        self.command.env_remove(name);
        self
    }

    /// Builds a crate outside of the workspace into the workspace's target directory, which already holds
    /// most of it.
    pub(crate) fn in_shared_target(self) -> Self {
        match std::env::var_os("CARGO_TARGET_DIR") {
            Some(_) => self,
            None => self.env("CARGO_TARGET_DIR", "target"),
        }
    }

    /// Runs the command, which must succeed.
    pub(crate) fn run(mut self) -> Outcome {
        announce(&self.line);
        let status = self.command.status()?;
        self.check(status)
    }

    /// Runs the command and returns its output.
    pub(crate) fn output(mut self) -> Outcome<String> {
        announce(&self.line);
        let output = self.command.stderr(Stdio::inherit()).output()?;
        self.check(output.status)?;
        Ok(String::from_utf8(output.stdout)?)
    }

    /// Runs the command, prints its output as it comes, and returns the last line.
    pub(crate) fn last_line(mut self) -> Outcome<String> {
        announce(&self.line);
        let mut child = self.command.stdout(Stdio::piped()).spawn()?;
        let output = child.stdout.take().expect("the output is piped");
        let mut last = String::new();
        for line in BufReader::new(output).lines() {
            last = line?;
            println!("{last}");
        }
        let status = child.wait()?;
        self.check(status)?;
        Ok(last)
    }

    fn check(&self, status: ExitStatus) -> Outcome {
        if status.success() { Ok(()) } else { Err(format!("`{}` failed: {status}", self.line).into()) }
    }
}

//! One command, its output and its duration.

use std::error::Error;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// The longest duration of a step, which is several times that of the longest one.
const LIMIT: &str = "30m";
/// The same for a step of the soak.
const LONG_LIMIT: &str = "4h";
/// The exit code of `timeout` for a command that it ended.
const TIMED_OUT: i32 = 124;

pub(crate) type Outcome<T = ()> = Result<T, Box<dyn Error + Send + Sync>>;

/// A command that runs in the root of the workspace, and its title.
#[derive(Debug)]
pub(crate) struct Step {
    title: String,
    command: Command,
    expected: Expected,
    limit: &'static str,
}

/// The condition that the output must meet, besides the success of the command.
#[derive(Clone, Copy, Debug)]
enum Expected {
    Anything,
    NoWarnings,
    LastLine(&'static str),
}

/// The result of a step that succeeded.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) title: String,
    pub(crate) took: Duration,
    pub(crate) output: String,
}

impl Report {
    /// Counts the tests that passed, by the closing lines of test programs.
    pub(crate) fn passed(&self) -> usize {
        let counts = self.output.lines().filter_map(|line| line.strip_prefix("test result: ok. "));
        counts.filter_map(|counts| counts.split(' ').next()?.parse::<usize>().ok()).sum()
    }
}

impl Step {
    /// Prepares a command of the cargo that runs this program.
    pub(crate) fn cargo(arguments: &str) -> Self {
        Self::new(format!("cargo {arguments}"), cargo()).arguments(arguments)
    }

    /// Prepares a program that cargo has built.
    pub(crate) fn program(title: &str, path: &Path) -> Self {
        Self::new(title.to_owned(), Command::new(path))
    }

    fn new(title: String, mut command: Command) -> Self {
        command.current_dir(root()).stdin(Stdio::null());
        Self { title, command, expected: Expected::Anything, limit: LIMIT }
    }

    /// Adds arguments that are separated by spaces.
    pub(crate) fn arguments(mut self, arguments: &str) -> Self {
        self.command.args(arguments.split_whitespace());
        self
    }

    /// Sets an environment variable.
    pub(crate) fn env(mut self, name: &str, value: impl AsRef<Path>) -> Self {
        self.command.env(name, value.as_ref());
        self
    }

    /// Removes an environment variable.
    pub(crate) fn without_env(mut self, name: &str) -> Self {
        self.command.env_remove(name);
        self
    }

    /// Builds a crate outside the workspace into the workspace's own directory, which already has its dependencies.
    pub(crate) fn in_shared_target(self) -> Self {
        self.env("CARGO_TARGET_DIR", target())
    }

    /// Requires the output to end with this line.
    pub(crate) fn ends_with(mut self, line: &'static str) -> Self {
        self.expected = Expected::LastLine(line);
        self
    }

    /// Requires the output to contain no warning of cargo's.
    pub(crate) fn without_warnings(mut self) -> Self {
        self.expected = Expected::NoWarnings;
        self.env("CARGO_TERM_COLOR", "never")
    }

    /// Compiles the long form of tests. Other flags of the compiler need artifacts of their own.
    pub(crate) fn soaking(self) -> Self {
        let step = self.env("RUSTFLAGS", "--cfg soak").env("CARGO_TARGET_DIR", target().join("soak"));
        Self { limit: LONG_LIMIT, ..step }
    }

    /// Lets other commands have the processors first.
    pub(crate) fn nice(self) -> Self {
        self.through("nice", &["-n", "19"])
    }

    /// Ends the command and the processes that it started, so that a test that hangs is named in the output.
    fn limited(self) -> Self {
        let limit = self.limit;
        self.through("timeout", &["--kill-after=10s", limit])
    }

    /// Runs the command by another program, which takes the command as its last arguments.
    fn through(mut self, program: &str, arguments: &[&str]) -> Self {
        let mut outer = Command::new(program);
        outer.args(arguments).arg(self.command.get_program()).args(self.command.get_args());
        outer.current_dir(root()).stdin(Stdio::null());
        for (name, value) in self.command.get_envs() {
            match value {
                Some(value) => outer.env(name, value),
                None => outer.env_remove(name),
            };
        }
        self.command = outer;
        self
    }

    pub(crate) fn title(&self) -> &str {
        &self.title
    }

    /// Runs the command, and prints its output when it has ended.
    ///
    /// The output goes through files, because a process that the command leaves behind could hold a pipe open.
    pub(crate) fn run(self) -> Outcome<Report> {
        let mut step = self.limited();
        announce(&format!("starting: {}", step.title));
        let log = log_file(&step.title).map_err(|error| format!("the log of `{}`: {error}", step.title))?;
        let errors = log.with_extension("errors");
        let file = File::create(&log)?;
        // A last line is that of the standard output alone.
        let error_file = match step.expected {
            Expected::LastLine(_) => File::create(&errors)?,
            Expected::Anything | Expected::NoWarnings => file.try_clone()?,
        };
        step.command.stdout(file).stderr(error_file);
        let started = Instant::now();
        let status = step.command.status().map_err(|error| format!("`{}`: {error}", step.title))?;
        let took = started.elapsed();
        let output = read(&log)?;
        let outcome = step.check(status, &output);
        let word = if outcome.is_ok() { "done" } else { "FAILED" };
        let errors = if errors.is_file() { read(&errors)? } else { String::new() };
        announce(&format!("{word}: {} ({:.1} s)\n{errors}{output}", step.title, took.as_secs_f64()));
        outcome.map(|()| Report { title: step.title, took, output })
    }

    /// Runs the command and returns its standard output, which is not printed.
    pub(crate) fn quiet(mut self) -> Outcome<Report> {
        announce(&format!("starting: {}", self.title));
        let started = Instant::now();
        let output = self.command.stderr(Stdio::inherit()).output()?;
        let took = started.elapsed();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        self.check(output.status, &text)?;
        announce(&format!("done: {} ({:.1} s)", self.title, took.as_secs_f64()));
        Ok(Report { title: self.title, took, output: text })
    }

    fn check(&self, status: ExitStatus, output: &str) -> Outcome {
        let problem = match self.expected {
            _ if status.code() == Some(TIMED_OUT) => Some(format!("stopped after {}", self.limit)),
            _ if !status.success() => Some(format!("{status}{}", failures(output))),
            Expected::Anything => None,
            Expected::NoWarnings => {
                // The tests of behaviour are not published.
                let is_meant =
                    |line: &&str| line.starts_with("warning") && !line.contains("ignoring test `it`");
                output.lines().find(is_meant).map(str::to_owned)
            }
            Expected::LastLine(expected) => {
                let last = output.lines().last().unwrap_or_default();
                (last != expected).then(|| format!("ended with `{last}` instead of `{expected}`"))
            }
        };
        problem.map_or(Ok(()), |problem| Err(format!("`{}`: {problem}", self.title).into()))
    }
}

/// Returns the part of a test program's output that names the failures and their causes.
///
/// The errors of all steps are printed last, where they are not lost among the outputs.
fn failures(output: &str) -> &str {
    output.find("\nfailures:\n").map_or("", |start| &output[start..])
}

fn read(log: &Path) -> Outcome<String> {
    Ok(String::from_utf8_lossy(&fs::read(log)?).into_owned())
}

/// Returns the command of the cargo that runs this program.
pub(crate) fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Prints one block, which the output of another step cannot interrupt.
pub(crate) fn announce(text: &str) {
    println!("==> {text}");
}

/// The root of the workspace.
pub(crate) fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// The directory of what is built.
pub(crate) fn target() -> PathBuf {
    root().join(std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from))
}

fn log_file(title: &str) -> Outcome<PathBuf> {
    let directory = target().join("xtask");
    fs::create_dir_all(&directory)?;
    let is_kept = |c: char| c.is_alphanumeric() || "-_".contains(c);
    let name: String = title.chars().map(|c| if is_kept(c) { c } else { '.' }).take(100).collect();
    Ok(directory.join(name + ".log"))
}

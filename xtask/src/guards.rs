//! Takes guards out of the code, one at a time, and finds out whether a campaign or a simulation notices. Uses only
//! `step`.
//!
//! A guard is a patch in `chaos/guards`. It is applied to a copy of the last commit below the target directory.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::step::{Outcome, root, target};

/// The options of the run.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Only the guards with this text in their names.
    #[arg(default_value = "")]
    name: String,
}

/// A guard of the code, and the run that fails without it.
struct Guard {
    /// The name of its patch.
    name: &'static str,
    finder: Finder,
}

enum Finder {
    /// A campaign with these options, which are for less than ten minutes.
    Campaign(&'static str),
    /// Tests: a package, its target, and a part of their names.
    Tests(&'static str, &'static str),
}

impl Finder {
    /// Returns the exit code of a run that finds something. Others tell of a run that could not be made.
    fn code(&self) -> i32 {
        match self {
            Self::Campaign(_) => 1,
            Self::Tests(..) => 101,
        }
    }
}

const GUARDS: [Guard; 7] = [
    Guard { name: "owner-check", finder: Finder::Tests("zklock-core --lib", "queue::acquisition::") },
    Guard {
        name: "lease-clock",
        finder: Finder::Campaign("--minutes 3 --workload register --faults silence,stop-client"),
    },
    Guard {
        name: "own-node-watch",
        finder: Finder::Campaign("--minutes 3 --workload register --faults delete-node"),
    },
    Guard {
        name: "withdrawal",
        finder: Finder::Campaign("--minutes 2 --workload register --no-faults --tasks 2"),
    },
    Guard { name: "write-permit", finder: Finder::Tests("zklock-core --lib", "cohort::schedules::") },
    Guard { name: "company", finder: Finder::Campaign("--minutes 2 --workload fairness --no-faults") },
    Guard {
        name: "quorum-request",
        finder: Finder::Tests(
            "zklock-tests --test it",
            "recovery::a_contender_is_looked_for_after_the_server_caught_up",
        ),
    },
];

/// Takes each guard out, and fails if nothing notices.
pub(crate) fn run(options: &Options) -> Outcome {
    let copy = Copy::of_the_last_commit()?;
    let mut unnoticed = Vec::new();
    for guard in GUARDS.iter().filter(|guard| guard.name.contains(&options.name)) {
        match copy.without(guard)? {
            Some(after) => println!("{}: found after {:.0} s", guard.name, after.as_secs_f64()),
            None => {
                println!("{}: not found", guard.name);
                unnoticed.push(guard.name);
            }
        }
    }
    if unnoticed.is_empty() { Ok(()) } else { Err(format!("not found: {}", unnoticed.join(", ")).into()) }
}

/// A copy of the last commit, which is removed at the end.
struct Copy(PathBuf);

impl Copy {
    fn of_the_last_commit() -> Outcome<Self> {
        let copy = Self(target().join("guards").join("source"));
        copy.remove();
        git(root(), &["worktree", "add", "--force", "--detach", &copy.0.to_string_lossy(), "HEAD"])?;
        Ok(copy)
    }

    /// Returns how long it takes to notice that a guard is missing, without the build; `None` if nothing notices.
    fn without(&self, guard: &Guard) -> Outcome<Option<Duration>> {
        git(&self.0, &["checkout", "--quiet", "--", "."])?;
        let patch = root().join("chaos/guards").join(guard.name).with_extension("patch");
        git(&self.0, &["apply", &patch.to_string_lossy()])?;
        let (build, run) = match guard.finder {
            Finder::Campaign(options) => (
                "build --package zklock-chaos".to_owned(),
                format!("run --package zklock-chaos -- {options}"),
            ),
            Finder::Tests(target, names) => {
                let test = format!("test --package {target}");
                (format!("{test} --no-run"), format!("{test} -- {names}"))
            }
        };
        if self.cargo(&build)? != Some(0) {
            return Err(format!("{} cannot be taken out: the code does not compile", guard.name).into());
        }
        let begin = Instant::now();
        match (self.cargo(&run)?, guard.finder.code()) {
            (Some(0), _) => Ok(None),
            (code, found) if code == Some(found) => Ok(Some(begin.elapsed())),
            (code, _) => {
                Err(format!("{}: the run ended with {code:?}, and found nothing", guard.name).into())
            }
        }
    }

    /// Runs cargo in the copy. Returns its exit code, unless a signal ended it.
    fn cargo(&self, arguments: &str) -> Outcome<Option<i32>> {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        command.args(["--quiet"]).args(arguments.split(" ")).current_dir(&self.0);
        let command = command.env("CARGO_TARGET_DIR", target().join("guards").join("target"));
        Ok(command.stdin(Stdio::null()).status()?.code())
    }

    fn remove(&self) {
        // There may be none.
        let _ = git(root(), &["worktree", "remove", "--force", &self.0.to_string_lossy()]);
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        self.remove();
    }
}

fn git(directory: &Path, arguments: &[&str]) -> Outcome {
    let output = Command::new("git").args(arguments).current_dir(directory).output()?;
    match output.status.success() {
        true => Ok(()),
        false => {
            Err(format!("git {}: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr)).into())
        }
    }
}

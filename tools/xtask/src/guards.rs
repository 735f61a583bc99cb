//! Takes guards out of the code, one at a time, and finds out whether a campaign or a simulation notices.
//!
//! A guard is a patch in `tools/chaos/guards`. It is applied to a copy of the last commit below the target directory.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{fs, io};

use self::Finder::{Campaign, Tests};
use crate::step::{Outcome, cargo, root, target};

/// The options of the run.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Options {
    /// Only the guards with this text in their names.
    #[arg(default_value = "")]
    name: String,
}

/// The run that fails without a guard.
#[derive(Clone, Copy)]
enum Finder {
    /// A campaign with these options, which are for less than ten minutes, and the rules of which it finds one broken.
    Campaign(&'static str, &'static [&'static str]),
    /// The tests that these arguments choose.
    Tests(&'static str),
}

/// The names of the patches.
const GUARDS: [(&str, Finder); 9] = [
    (
        "owner-check",
        Tests(
            "--profile soak --package zklock-core --lib queue::sim::two_contenders_exclude_each_other_although",
        ),
    ),
    (
        "lease-clock",
        Campaign("--minutes 3 --workload register --faults silence,stop-client", &["Exclusion", "Told"]),
    ),
    ("own-node-watch", Campaign("--minutes 3 --workload register --faults delete-node", &["Told"])),
    ("withdrawal", Campaign("--minutes 2 --workload register --no-faults --tasks 2", &["Vacant"])),
    ("list", Tests("--package zklock --test it numbers::")),
    ("number", Tests("--package zklock --test it numbers::")),
    ("write-permit", Tests("--package zklock --test it contract::passing::")),
    ("turn-bound", Tests("--package zklock --test it fairness::")),
    ("quorum-request", Tests("--package zklock --test it recovery::")),
];

/// Takes each guard out, and fails if nothing notices.
pub(crate) fn run(options: &Options) -> Outcome {
    let copy = Copy::of_the_last_commit()?;
    let mut unnoticed = Vec::new();
    for (name, finder) in GUARDS.into_iter().filter(|(name, _)| name.contains(&options.name)) {
        match copy.without(name, finder)? {
            Some(after) => println!("{name}: found after {:.0} s", after.as_secs_f64()),
            None => {
                println!("{name}: not found");
                unnoticed.push(name);
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
    fn without(&self, guard: &str, finder: Finder) -> Outcome<Option<Duration>> {
        git(&self.0, &["checkout", "--quiet", "--", "."])?;
        let patch = root().join("tools/chaos/guards").join(guard).with_extension("patch");
        git(&self.0, &["apply", &patch.to_string_lossy()])?;
        let kept = target().join("guards").join(guard);
        let (build, run) = match finder {
            Campaign(options, _) => (
                "build --package zklock-chaos".to_owned(),
                format!("run --package zklock-chaos -- {options} --keep {}", kept.display()),
            ),
            Tests(chosen) => (format!("test --no-run {chosen}"), format!("test {chosen}")),
        };
        if self.cargo(&build)? != Some(0) {
            return Err(format!("{guard} cannot be taken out: the code does not compile").into());
        }
        remove(&kept)?;
        let begin = Instant::now();
        let code = self.cargo(&run)?;
        let after = begin.elapsed();
        let is_found = match finder {
            Campaign(_, rules) => code == Some(CAMPAIGN) && breaks_one_of(rules, &kept)?,
            Tests(..) => code == Some(TESTS),
        };
        remove(&kept)?;
        match (is_found, code) {
            (true, _) => Ok(Some(after)),
            (false, Some(0 | CAMPAIGN)) => Ok(None),
            (false, code) => Err(format!("{guard}: the run ended with {code:?}, and found nothing").into()),
        }
    }

    /// Runs cargo in the copy. Returns its exit code, unless a signal ended it.
    fn cargo(&self, arguments: &str) -> Outcome<Option<i32>> {
        let mut command = cargo();
        command.arg("--quiet").args(arguments.split(' ')).current_dir(&self.0);
        let command = command.env("CARGO_TARGET_DIR", target().join("guards").join("target"));
        let command = command.env("RUSTFLAGS", "--cfg soak");
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

/// Returns whether the report of a campaign has a violation of one of these rules.
fn breaks_one_of(rules: &[&str], directory: &Path) -> Outcome<bool> {
    let report = fs::read_to_string(directory.join("report.txt"))?;
    let is_broken = |rule: &&str| report.lines().any(|line| line.starts_with(&format!("{rule}: ")));
    Ok(rules.iter().any(is_broken))
}

/// Removes a directory, if it is there.
fn remove(directory: &Path) -> Outcome {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error.into()),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// The exit code of a campaign that finds a violation.
const CAMPAIGN: i32 = 1;
/// The exit code of tests that fail. Others tell of a run that could not be made.
const TESTS: i32 = 101;

fn git(directory: &Path, arguments: &[&str]) -> Outcome {
    let output = Command::new("git").args(arguments).current_dir(directory).output()?;
    match output.status.success() {
        true => Ok(()),
        false => {
            Err(format!("git {}: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr)).into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_patch_of_each_guard_applies_to_the_code() {
        for (name, _) in GUARDS {
            let patch = format!("tools/chaos/guards/{name}.patch");
            let applied = Command::new("git").args(["apply", "--check", &patch]).current_dir(root()).output();
            let applied = applied.expect("git starts");
            assert!(applied.status.success(), "{name}: {}", String::from_utf8_lossy(&applied.stderr));
        }
    }
}

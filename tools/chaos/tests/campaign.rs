//! Short forms of the campaigns. The soak has longer ones.

use std::process::Command;

const MINUTES: &str = if cfg!(soak) { "2" } else { "0.5" };

/// Longer than the run takes.
const LIMIT: &str = "10m";

#[test]
fn a_campaign_with_all_kinds_of_work_finds_no_violation() {
    let mut command = Command::new("timeout");
    command.args(["--signal=KILL", LIMIT, env!("CARGO_BIN_EXE_zklock-chaos")]);
    let output = command.args(["--minutes", MINUTES, "--seed", "1"]).output().unwrap();
    let (report, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{}:\n{report}{errors}", output.status);
    assert!(report.lines().any(|line| line == "0 violations"), "{report}");
}

//! Short forms of the campaigns, which run with all other tests.

use std::process::{Command, Stdio};

/// Runs the campaign's program, and returns what it prints. Fails if it does.
fn chaos(arguments: &str) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_zklock-chaos"));
    let output = command.args(arguments.split(' ')).stderr(Stdio::inherit()).output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}:\n{printed}", output.status);
    printed
}

#[test]
fn a_campaign_of_two_minutes_with_all_kinds_of_work_finds_no_violation() {
    let report = chaos("--minutes 2 --seed 1");
    assert!(report.lines().any(|line| line == "0 violations"), "{report}");
}

#[test]
fn holders_whose_links_are_cut_are_told_before_the_lock_is_handed_on() {
    let line = chaos("handover --cut client --runs 20 --beside 20");
    assert!(line.contains("runs=20 told_first=20 "), "{line}");
}

#[test]
fn holders_whose_server_is_cut_off_from_the_leader_are_told_before_the_lock_is_handed_on() {
    let line = chaos("handover --cut follower --runs 10 --beside 10");
    assert!(line.contains("runs=10 told_first=10 "), "{line}");
}

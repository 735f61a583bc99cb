//! The end of a command whose servers answer late or not at all.

use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use zklock_testkit::Direction;
use zklock_testkit::wire::Opcode;

use crate::running::state;
use crate::support::Space;
use crate::waiting::until;

#[tokio::test]
async fn a_further_signal_ends_a_command_that_cannot_release_its_lock() {
    let space = Space::new();
    for command in ["exec", "lead"] {
        let proxy = space.proxy();
        let zklock = space.zklock_at(proxy.connect_string(), &format!("{command} /{command}"));
        let zklock = zklock.env("ZKLOCK_DEFAULT_WAIT", "60s");
        let script = "trap 'exit 5' TERM; echo $$; while :; do sleep 0.01; done";
        let mut running = zklock.shell(script).start();
        let program = running.process();
        proxy.blackhole(Direction::Both);
        running.signal(Signal::SIGTERM);
        until(async || state(program).is_none(), "the program has ended").await;
        running.signal(Signal::SIGINT);
        assert_eq!(running.code().await, 5, "{command}");
    }
}

#[tokio::test]
async fn a_signal_to_all_processes_leaves_time_for_the_release() {
    let space = Space::new();
    let proxy = space.proxy();
    let zklock = space.zklock_at(proxy.connect_string(), "exec /a --json").err_to_out();
    let mut running = zklock.shell("echo program $$; exec sleep 1000").start();
    let program = running.process_with("program ");
    proxy.blackhole(Direction::Both);
    kill(Pid::from_raw(program), Signal::SIGTERM).unwrap();
    until(async || state(program).is_none(), "the program has ended, and the lock is being released").await;
    running.signal(Signal::SIGTERM);
    // A further signal would leave one second.
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    proxy.heal();
    running.line_with("\"event\":\"released\"");
    assert_eq!(running.code().await, -15);
}

#[tokio::test]
async fn a_session_that_ends_during_the_release_does_not_cost_the_code_of_the_program() {
    let space = Space::new();
    let proxy = space.proxy();
    // The servers do not hear of the release, and all else has an answer until the program has ended.
    let _unheard = proxy.on_request(Opcode::DELETE).always().discard();
    let zklock = space.brief_at(proxy.connect_string(), "exec /a --json").err_to_out();
    let zklock = zklock.env("ZKLOCK_DEFAULT_WAIT", "60s");
    let mut running = zklock.shell("echo program $$; exit 5").start();
    let program = running.process_with("program ");
    until(async || state(program).is_none(), "the program has ended, and the lock is being released").await;
    proxy.blackhole(Direction::Both);
    assert!(running.line_with("\"event\":\"unreleased\"").contains("lost"));
    assert_eq!(running.code().await, 5);
}

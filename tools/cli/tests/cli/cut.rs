//! The connection of a command is cut, and may be restored, while its program runs and when the command ends.

use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use zklock_testkit::Direction;
use zklock_testkit::wire::Opcode;

use crate::running::{is_alive, state};
use crate::support::{Space, soon};
use crate::waiting::until;

const PATH: &str = "/deploy";

#[tokio::test]
async fn a_leader_whose_program_was_ended_runs_it_again_although_the_servers_answer_in_time() {
    let space = Space::new();
    let proxy = space.proxy();
    let zklock = space.brief_at(proxy.connect_string(), "lead /boss");
    let mut running = zklock.shell("echo $$; exec sleep 1000").start();
    let program = running.process();
    proxy.blackhole(Direction::Both);
    until(async || !is_alive(program), "the program is ended").await;
    proxy.heal();
    let next = running.process();
    assert!(next != program && is_alive(next));
    running.ends_by(Signal::SIGTERM).await;
}

#[tokio::test]
async fn a_leader_that_is_cut_off_does_not_run_its_program_again() {
    let space = Space::new();
    let (client, proxy) = (space.client().await, space.proxy());
    let zklock = space.brief_at(proxy.connect_string(), "lead /boss");
    let mut running = zklock.shell("echo ran; exec sleep 1000").start();
    assert_eq!(running.line(), "ran");
    proxy.blackhole(Direction::Both);
    let latch = client.leader_latch("/boss").unwrap();
    let term = soon(latch.leadership()).await.unwrap();
    running.signal(Signal::SIGTERM);
    proxy.heal();
    assert_eq!(running.rest(), "");
    assert!(term.is_leading());
    latch.close().await.unwrap();
}

#[tokio::test]
async fn a_program_is_asked_once_to_end() {
    let space = Space::new();
    let proxy = space.proxy();
    let exec = format!("exec {PATH}");
    let start = || {
        let zklock = space.brief_at(proxy.connect_string(), &exec);
        let mut running =
            zklock.shell("trap 'echo asked' TERM; echo held; while :; do sleep 0.01; done").start();
        assert_eq!(running.line(), "held");
        running
    };
    let mut deleted = start();
    space.delete_children(PATH).await;
    assert_eq!(deleted.code().await, 79);
    assert_eq!(deleted.rest(), "asked\n");
    let mut cut = start();
    proxy.blackhole(Direction::Both);
    assert_eq!(cut.line(), "asked");
    proxy.heal();
    // Both processes may ask at the same time.
    let rest = cut.rest();
    assert!(["", "asked\n"].contains(&rest.as_str()), "{rest}");
    assert_eq!(cut.code().await, 79);
}

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

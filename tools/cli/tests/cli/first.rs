//! `zklock` in the place of a container's first process, to which the kernel gives the children of processes that ended.

use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::sys::prctl::set_child_subreaper;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::running::{is_alive, state};
use crate::support::Space;
use crate::waiting::until;
use crate::zklock::Zklock;

const ARGUMENTS: &str = "ZKLOCK_TEST_ADOPTS";

/// Lets this test binary become the command. It is one of the processes that adopt orphans from then on.
fn adopting(zklock: Zklock) -> Zklock {
    zklock.through_test("first::a_test_binary_becomes_a_command_that_adopts_orphans", ARGUMENTS)
}

#[test]
fn a_test_binary_becomes_a_command_that_adopts_orphans() {
    if let Ok(arguments) = std::env::var(ARGUMENTS) {
        set_child_subreaper(true).unwrap();
        let mut zklock = Command::new(Zklock::path());
        panic!("{}", zklock.args(arguments.split('\n')).env_remove(ARGUMENTS).exec());
    }
    let ended = adopting(Zklock::new("--version")).run();
    assert!(ended.out.contains("zklock 0."), "{}", ended.out);
}

#[tokio::test]
async fn orphans_that_end_are_reaped_and_do_not_end_the_program() {
    let space = Space::new();
    // The inner shell ends at once, and its child has no parent any more.
    let script = "sh -c 'sleep 1000 & echo orphan $!'; echo program $$; exec sleep 1000";
    let mut running = adopting(space.zklock("exec /a").shell(script)).start();
    let orphan = running.process_with("orphan ");
    let program = running.process_with("program ");
    kill(Pid::from_raw(orphan), Signal::SIGKILL).unwrap();
    until(async || state(orphan).is_none(), "the orphan is reaped").await;
    assert!(is_alive(program));
    running.ends_by(Signal::SIGTERM).await;
}

#[tokio::test]
async fn orphans_of_the_last_term_are_reaped_while_another_process_leads() {
    let space = Space::new();
    let client = space.client().await;
    let script = "trap '' TERM; sh -c 'sleep 1000 & echo orphan $!'; sleep 1000 & wait";
    let mut running = adopting(space.zklock("lead /boss --grace 1s").shell(script)).start();
    let orphan = running.process_with("orphan ");
    let latch = client.leader_latch("/boss").unwrap();
    space.until_queued("/boss", 2).await;
    space.zklock("resign /boss --yes").ends(0);
    until(async || state(orphan).is_none(), "the orphan is killed with the program and reaped").await;
    assert!(crate::support::soon(latch.leadership()).await.unwrap().is_leading());
    // Before it is a candidate again, a signal could still end the last term.
    space.until_queued("/boss", 2).await;
    running.ends_by(Signal::SIGTERM).await;
    latch.close().await.unwrap();
}

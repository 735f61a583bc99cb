//! The promise of `zklock exec`: the program never outlives its lock.

use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use zklock_testkit::Direction;

use crate::beat::{Beat, Manners, now};
use crate::running::{child_with, is_alive};
use crate::support::{SHORT_SESSION, Space, free};
use crate::waiting::until;

const PATH: &str = "/deploy";
/// Many beats.
const A_WHILE: Duration = Duration::from_millis(500);

#[tokio::test]
async fn a_program_is_killed_with_its_zklock_and_before_its_lock_is_free() {
    let (space, beat) = (Space::new(), Beat::new());
    let client = space.client().await;
    let running = beat.under(space.brief(&format!("exec {PATH}")), Manners::Ignores).start();
    let program = beat.begun().await;
    let watchdog = child_with(running.pid(), "__watchdog").expect("it is watched");
    running.signal(Signal::SIGKILL);
    until(async || !is_alive(program), "the program is killed").await;
    until(async || !is_alive(watchdog.as_raw()), "the watchdog has ended").await;
    let free = free(&client, PATH).await;
    assert!(beat.last().unwrap().0 < free);
}

#[tokio::test]
async fn the_children_of_a_program_are_killed_with_its_zklock() {
    let space = Space::new();
    let script = "trap '' TERM; sleep 1000 & echo $!; wait";
    let mut running = space.zklock(&format!("exec {PATH}")).shell(script).start();
    let child: i32 = running.line().parse().unwrap();
    running.signal(Signal::SIGKILL);
    until(async || !is_alive(child), "the child of the program is killed").await;
}

#[tokio::test]
async fn a_program_ends_before_the_lock_of_a_stopped_zklock_is_free() {
    let space = Space::new();
    let client = space.client().await;
    for manners in [Manners::Ends, Manners::Ignores] {
        let beat = Beat::new();
        let mut running = beat.under(space.brief(&format!("exec {PATH}")), manners).start();
        let program = beat.begun().await;
        running.signal(Signal::SIGSTOP);
        let free = free(&client, PATH).await;
        // The program is a zombie as long as its parent is stopped.
        assert!(!is_alive(program), "{manners:?}");
        assert!(beat.last().unwrap().0 < free, "{manners:?}");
        running.signal(Signal::SIGCONT);
        assert_eq!(running.code().await, 79, "{manners:?}");
    }
}

#[tokio::test]
async fn a_program_is_killed_when_its_watchdog_is_gone() {
    let (space, beat) = (Space::new(), Beat::new());
    let mut running = beat.under(space.zklock(&format!("exec {PATH}")), Manners::Ignores).start();
    let program = beat.begun().await;
    let watchdog = child_with(running.pid(), "__watchdog").expect("it is watched");
    kill(watchdog, Signal::SIGKILL).unwrap();
    assert_eq!(running.code().await, 137);
    assert!(!is_alive(program));
    assert!(space.children(PATH).await.is_empty(), "the lock is released");
}

#[tokio::test]
async fn a_program_is_killed_with_its_zklock_although_its_watchdog_is_stopped() {
    let (space, beat) = (Space::new(), Beat::new());
    let running = beat.under(space.zklock(&format!("exec {PATH}")), Manners::Ignores).start();
    let program = beat.begun().await;
    let watchdog = child_with(running.pid(), "__watchdog").expect("it is watched");
    kill(watchdog, Signal::SIGSTOP).unwrap();
    running.signal(Signal::SIGKILL);
    until(async || !is_alive(program), "the kernel kills the program").await;
    kill(watchdog, Signal::SIGCONT).unwrap();
    until(async || !is_alive(watchdog.as_raw()), "the watchdog has ended").await;
}

#[tokio::test]
async fn a_stopped_watchdog_does_not_keep_a_program_from_its_end() {
    let (space, beat) = (Space::new(), Beat::new());
    let proxy = space.proxy();
    let zklock = space.brief_at(proxy.connect_string(), &format!("exec {PATH}"));
    let mut running = beat.under(zklock, Manners::Ignores).start();
    let program = beat.begun().await;
    let watchdog = child_with(running.pid(), "__watchdog").expect("it is watched");
    kill(watchdog, Signal::SIGSTOP).unwrap();
    let client = space.client().await;
    proxy.blackhole(Direction::Both);
    let free = free(&client, PATH).await;
    assert!(!is_alive(program));
    assert!(beat.last().unwrap().0 < free);
    assert_eq!(running.code().await, 79);
    until(async || !is_alive(watchdog.as_raw()), "the stopped watchdog is killed").await;
}

#[tokio::test]
async fn a_stopped_watchdog_that_goes_on_does_not_end_a_program_whose_lock_is_held() {
    let (space, beat) = (Space::new(), Beat::new());
    let mut running = beat.under(space.brief(&format!("exec {PATH}")), Manners::Ends).start();
    let program = beat.begun().await;
    let watchdog = child_with(running.pid(), "__watchdog").expect("it is watched");
    kill(watchdog, Signal::SIGSTOP).unwrap();
    // This test is about the length of the stop, in which the first deadlines pass.
    tokio::time::sleep(SHORT_SESSION).await;
    kill(watchdog, Signal::SIGCONT).unwrap();
    let before = now();
    until(async || beat.last().unwrap().0 > before + A_WHILE, "the program goes on").await;
    assert!(is_alive(program));
    running.signal(Signal::SIGTERM);
    assert_eq!(running.code().await, -15);
}

#[tokio::test]
async fn a_signal_to_all_processes_of_a_service_lets_the_program_end_by_itself() {
    let space = Space::new();
    let directory = tempfile::tempdir().unwrap();
    let go = directory.path().join("go");
    let script = "trap 'echo asked; until [ -e \"$GO\" ]; do sleep 0.01; done; exit 5' TERM; echo $$; \
                  while :; do sleep 0.01; done";
    let mut running = space.zklock(&format!("exec {PATH}")).env("GO", &go).shell(script).start();
    let program: i32 = running.line().parse().unwrap();
    let watchdog = child_with(running.pid(), "__watchdog").expect("it is watched");
    for process in [watchdog, Pid::from_raw(program), running.pid()] {
        kill(process, Signal::SIGTERM).unwrap();
    }
    assert_eq!(running.line(), "asked");
    assert!(is_alive(watchdog.as_raw()));
    std::fs::write(&go, "").unwrap();
    assert_eq!(running.code().await, 5);
}

#[tokio::test]
async fn messages_that_nobody_reads_delay_neither_the_program_nor_its_end() {
    let space = Space::new();
    let zklock = space.zklock(&format!("exec {PATH} --json -vv")).err_to_full_pipe();
    let mut running = zklock.shell("echo $$; exec sleep 1000").start();
    let program: i32 = running.line().parse().unwrap();
    space.delete_children(PATH).await;
    assert_eq!(running.code().await, 79);
    assert!(!is_alive(program));
}

#[tokio::test]
async fn a_program_whose_lock_is_deleted_is_asked_to_end_and_then_killed() {
    let space = Space::new();
    let script = "trap 'echo asked; exit 0' TERM; echo held; while :; do sleep 0.01; done";
    let mut running = space.zklock(&format!("exec {PATH}")).shell(script).start();
    assert_eq!(running.line(), "held");
    space.delete_children(PATH).await;
    assert_eq!(running.line(), "asked");
    assert_eq!(running.code().await, 79);

    let (beat, exec) = (Beat::new(), format!("exec {PATH} --grace 1s"));
    let mut running = beat.under(space.zklock(&exec), Manners::Ignores).start();
    let program = beat.begun().await;
    space.delete_children(PATH).await;
    assert_eq!(running.code().await, 79);
    assert!(!is_alive(program));
}

#[tokio::test]
async fn a_program_may_be_killed_at_once_or_go_on_without_its_lock() {
    let space = Space::new();
    let script = "trap 'echo asked' TERM; echo $$; while :; do sleep 0.01; done";
    let mut running = space.zklock(&format!("exec {PATH} --on-lost kill")).shell(script).start();
    let program: i32 = running.line().parse().unwrap();
    space.delete_children(PATH).await;
    assert_eq!(running.code().await, 79);
    assert!(!is_alive(program));
    assert_eq!(running.rest(), "");

    // It ends with zklock, so that nothing is left of a test that fails.
    let script = "trap 'echo asked' TERM; trap 'echo done; exit 0' USR1; echo held; \
                  while kill -0 $PPID 2>/dev/null; do sleep 0.01; done";
    let mut running =
        space.zklock(&format!("exec {PATH} --on-lost continue --json")).shell(script).err_to_out().start();
    running.line_with("held");
    space.delete_children(PATH).await;
    // The loss is told, and the program is not.
    while let line = running.line()
        && !line.contains(r#""event":"lost""#)
    {
        assert!(line.contains(r#""event":"acquired""#), "{line}");
    }
    running.signal(Signal::SIGUSR1);
    assert_eq!(running.line(), "done");
    assert_eq!(running.code().await, 79);
}

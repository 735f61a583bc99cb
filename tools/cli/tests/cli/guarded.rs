//! The promise of `zklock exec`: the program never outlives its lock.

use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::task::JoinSet;
use zklock_testkit::{Direction, How};

use crate::beat::{Beat, Manners, now};
use crate::running::{Running, child_with, is_alive};
use crate::support::{SHORT_SESSION, Space, free};
use crate::waiting::until;
use crate::zklock::{Zklock, full_pipe};

const PATH: &str = "/deploy";
const EXEC: &str = "exec /deploy";
/// Many beats.
const A_WHILE: Duration = Duration::from_millis(500);

fn watchdog(running: &Running) -> Option<Pid> {
    child_with(running.pid(), "__watchdog")
}

/// The event after which a lock ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// zklock is killed.
    Killed,
    /// zklock is stopped.
    Stopped,
    /// Nothing arrives in this direction.
    Silent(Direction),
    /// Nothing arrives, and the watchdog is stopped.
    Unwatched,
    /// The connection is reset, and so are new ones.
    Reset,
}

/// Checks that a program under a lock of a session with this timeout has ended when its lock is free.
async fn check_end(fault: Fault, manners: Manners, session: Duration) {
    let space = Space::new();
    let (client, proxy) = (space.client().await, space.proxy());
    let zklock = || space.zklock_at(proxy.connect_string(), EXEC).session(session);
    let (mut running, beat, program, watchdog) = started(zklock, manners).await;
    match fault {
        Fault::Killed => running.signal(Signal::SIGKILL),
        Fault::Stopped => running.signal(Signal::SIGSTOP),
        Fault::Silent(direction) => proxy.blackhole(direction),
        Fault::Unwatched => {
            kill(watchdog, Signal::SIGSTOP).unwrap();
            proxy.blackhole(Direction::Both);
        }
        Fault::Reset => {
            proxy.refuse();
            proxy.cut(How::Rst);
        }
    }
    let free = free(&client, PATH).await;
    // The program is a zombie as long as its parent is stopped.
    assert!(!is_alive(program), "{fault:?}, {manners:?}: the program lives when its lock is free");
    let last = beat.last().unwrap().0;
    assert!(last < free, "{fault:?}, {manners:?}: it worked {:?} after its lock was free", last - free);
    proxy.heal();
    running.signal(Signal::SIGCONT);
    assert_eq!(running.code().await, if fault == Fault::Killed { -9 } else { 79 }, "{fault:?}, {manners:?}");
    until(async || !is_alive(watchdog.as_raw()), "the watchdog has ended").await;
}

/// Starts a program, and returns when it beats and is watched. On a busy machine, a short lock may be lost before.
async fn started(zklock: impl Fn() -> Zklock, manners: Manners) -> (Running, Beat, i32, Pid) {
    for _ in 0..STARTS {
        let beat = Beat::new();
        let mut running = beat.under(zklock(), manners).start();
        let code = tokio::select! {
            program = beat.begun() => match watchdog(&running) {
                Some(watchdog) => return (running, beat, program, watchdog),
                None => running.code().await,
            },
            code = running.code() => code,
        };
        assert_eq!(code, 79);
    }
    panic!("the program never begins");
}

/// The most starts of a program that does not begin.
const STARTS: usize = 10;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_has_ended_when_its_lock_is_free() {
    let mut runs = JoinSet::new();
    for (fault, manners) in [
        (Fault::Killed, Manners::ChildIgnores),
        (Fault::Stopped, Manners::Ends),
        (Fault::Stopped, Manners::Ignores),
        (Fault::Silent(Direction::Both), Manners::ChildIgnores),
        (Fault::Unwatched, Manners::Ignores),
    ] {
        runs.spawn(check_end(fault, manners, SHORT_SESSION));
    }
    runs.join_all().await;
}

/// The number of runs, and of those at a time.
const RUNS: usize = 50;
const AT_A_TIME: usize = 10;
/// The session timeout of these runs.
const SHORTEST_SESSION: Duration = Duration::from_secs(4);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_program_outlives_its_lock_in_fifty_runs_with_the_connection_cut() {
    let both = Fault::Silent(Direction::Both);
    let faults = [both, both, Fault::Silent(Direction::ToClient), Fault::Reset];
    let mut runs = JoinSet::new();
    for (run, fault) in (0..RUNS).zip(faults.into_iter().cycle()) {
        if runs.len() >= AT_A_TIME {
            runs.join_next().await.unwrap().unwrap();
        }
        let manners = if run.is_multiple_of(2) { Manners::Ends } else { Manners::Ignores };
        runs.spawn(check_end(fault, manners, SHORTEST_SESSION));
    }
    runs.join_all().await;
}

#[tokio::test]
async fn a_program_is_killed_when_its_watchdog_is_gone() {
    let space = Space::new();
    let (mut running, _beat, program, watchdog) = started(|| space.zklock(EXEC), Manners::Ignores).await;
    kill(watchdog, Signal::SIGKILL).unwrap();
    assert_eq!(running.code().await, 137);
    assert!(!is_alive(program));
    assert!(space.children(PATH).await.is_empty(), "the lock is released");
}

#[tokio::test]
async fn a_program_is_killed_with_its_zklock_although_its_watchdog_is_stopped() {
    let space = Space::new();
    let (running, _beat, program, watchdog) = started(|| space.zklock(EXEC), Manners::Ignores).await;
    kill(watchdog, Signal::SIGSTOP).unwrap();
    running.signal(Signal::SIGKILL);
    until(async || !is_alive(program), "the kernel kills the program").await;
    kill(watchdog, Signal::SIGCONT).unwrap();
    until(async || !is_alive(watchdog.as_raw()), "the watchdog has ended").await;
}

#[tokio::test]
async fn a_stopped_watchdog_that_goes_on_does_not_end_a_program_whose_lock_is_held() {
    let space = Space::new();
    let (mut running, beat, program, watchdog) = started(|| space.brief(EXEC), Manners::Ends).await;
    kill(watchdog, Signal::SIGSTOP).unwrap();
    // This test is about the length of the stop, in which the first deadlines pass.
    tokio::time::sleep(SHORT_SESSION).await;
    kill(watchdog, Signal::SIGCONT).unwrap();
    let before = now();
    until(async || beat.last().unwrap().0 > before + A_WHILE, "the program goes on").await;
    assert!(is_alive(program));
    running.ends_by(Signal::SIGTERM).await;
}

#[tokio::test]
async fn a_signal_to_all_processes_of_a_service_lets_the_program_end_by_itself() {
    let space = Space::new();
    let directory = tempfile::tempdir().unwrap();
    let go = directory.path().join("go");
    let script = "trap 'echo asked; until [ -e \"$GO\" ]; do sleep 0.01; done; exit 5' TERM; echo $$; \
                  while :; do sleep 0.01; done";
    let mut running = space.zklock(EXEC).env("GO", &go).shell(script).start();
    let program = running.process();
    let watchdog = watchdog(&running).expect("it is watched");
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
    let zklock = space.zklock(&format!("exec {PATH} --json -vv")).err_to(full_pipe());
    let mut running = zklock.shell("echo $$; exec sleep 1000").start();
    let program = running.process();
    space.delete_children(PATH).await;
    assert_eq!(running.code().await, 79);
    assert!(!is_alive(program));
}

#[tokio::test]
async fn a_program_whose_lock_is_deleted_is_killed_after_its_grace_period() {
    let space = Space::new();
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
    let program = running.process();
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

//! The connection of a program under a lock is cut, and may be restored.

use std::time::Duration;

use nix::sys::signal::Signal;
use zklock_testkit::{Direction, How, Proxy};

use crate::beat::{Beat, Manners};
use crate::running::{Running, is_alive};
use crate::support::{Space, free, soon};
use crate::waiting::until;

const PATH: &str = "/deploy";

#[tokio::test]
async fn a_child_that_ignores_signals_does_not_outlive_the_lock_although_its_program_ends_at_once() {
    let (space, beat) = (Space::new(), Beat::new());
    let (client, proxy) = (space.client().await, space.proxy());
    let zklock = space.brief_at(proxy.connect_string(), &format!("exec {PATH}"));
    let mut running = beat.under_shell(zklock, Manners::Ignores).start();
    let child = beat.begun().await;
    proxy.blackhole(Direction::Both);
    let free = free(&client, PATH).await;
    assert!(!is_alive(child));
    assert!(beat.last().unwrap().0 < free);
    proxy.heal();
    assert_eq!(running.code().await, 79);
}

#[tokio::test]
async fn a_leader_whose_program_was_ended_runs_it_again_although_the_servers_answer_in_time() {
    let space = Space::new();
    let proxy = space.proxy();
    let zklock = space.brief_at(proxy.connect_string(), "lead /boss");
    let mut running = zklock.shell("echo $$; exec sleep 1000").start();
    let program: i32 = running.line().parse().unwrap();
    proxy.blackhole(Direction::Both);
    until(async || !is_alive(program), "the program is ended").await;
    proxy.heal();
    let next: i32 = running.line().parse().unwrap();
    assert!(next != program && is_alive(next));
    running.signal(Signal::SIGTERM);
    assert_eq!(running.code().await, -15);
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

/// The number of runs on each kind of server.
const RUNS: usize = 50;
/// The session timeout of these runs.
const SHORTEST_SESSION: Duration = Duration::from_secs(4);
/// The number of runs at a time.
const AT_A_TIME: usize = 10;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_program_outlives_its_lock_in_a_hundred_runs_with_the_connection_cut() {
    let mut runs = tokio::task::JoinSet::new();
    let mut done = 0;
    for run in 0..RUNS {
        while runs.len() >= AT_A_TIME {
            runs.join_next().await.unwrap().unwrap();
            done += 1;
        }
        runs.spawn(cut_off(run));
    }
    while let Some(run) = runs.join_next().await {
        run.unwrap();
        done += 1;
    }
    assert_eq!(done, RUNS);
}

/// Starts a program, and returns when it beats. On a busy machine, so short a lock may be lost before the program begins.
async fn started(space: &Space, proxy: &Proxy, manners: Manners) -> (Running, Beat, i32) {
    for _ in 0..STARTS {
        let beat = Beat::new();
        let zklock = space.zklock_at(proxy.connect_string(), &format!("exec {PATH}"));
        let mut running = beat.under(zklock.session(SHORTEST_SESSION), manners).start();
        let code = tokio::select! {
            program = beat.begun() => return (running, beat, program),
            code = running.code() => code,
        };
        assert_eq!(code, 79);
    }
    panic!("the program never begins");
}

/// The most starts of a program that does not begin.
const STARTS: usize = 10;

/// Cuts a program off from its servers, in one of several ways, and checks that it has ended when its lock is free.
async fn cut_off(run: usize) {
    let space = Space::new();
    let (client, proxy) = (space.client().await, space.proxy());
    let manners = if run.is_multiple_of(2) { Manners::Ends } else { Manners::Ignores };
    let (mut running, beat, program) = started(&space, &proxy, manners).await;
    match run % 4 {
        0 | 1 => proxy.blackhole(Direction::Both),
        2 => proxy.blackhole(Direction::ToClient),
        _ => {
            proxy.refuse();
            proxy.cut(How::Rst);
        }
    }
    let free = free(&client, PATH).await;
    assert!(!is_alive(program), "run {run}: the program lives when its lock is free");
    let last = beat.last().unwrap().0;
    assert!(last < free, "run {run}: the program worked {:?} after its lock was free", last - free);
    proxy.heal();
    assert_eq!(running.code().await, 79, "run {run}");
}

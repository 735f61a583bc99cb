//! `zklock lead`: a program that runs in one process of several.

use nix::sys::signal::Signal;

use crate::beat::{Beat, Manners};
use crate::running::is_alive;
use crate::support::Space;
use crate::waiting::until;

const SCRIPT: &str = "echo $$ $ZKLOCK_PATH; exec sleep 1000";

fn pid(line: &str) -> i32 {
    line.strip_suffix(" /boss").expect("the program knows its path").parse().unwrap()
}

#[tokio::test]
async fn a_program_runs_in_one_process_and_in_the_next_one_after_the_first_was_killed() {
    let space = Space::new();
    let mut first = space.brief("lead /boss").shell(SCRIPT).start();
    let leads = pid(&first.line());
    let mut second = space.zklock("lead /boss").shell(SCRIPT).start();
    space.until_queued("/boss", 2).await;
    first.signal(Signal::SIGKILL);
    let follows = pid(&second.line());
    assert!(!is_alive(leads) && is_alive(follows));
    second.ends_by(Signal::SIGTERM).await;
    until(async || space.children("/boss").await.is_empty(), "no candidate is left").await;
}

#[tokio::test]
async fn a_program_is_ended_with_its_term_and_runs_again_in_the_next_one_also_if_it_has_read_its_settings_again()
 {
    let space = Space::new();
    let script = "trap 'echo again' HUP; echo $$ $ZKLOCK_PATH; while :; do sleep 0.01; done";
    for (reads_again, signal) in [(false, Signal::SIGINT), (true, Signal::SIGTERM)] {
        let mut running = space.zklock("lead /boss").shell(script).start();
        let first = pid(&running.line());
        if reads_again {
            running.signal(Signal::SIGHUP);
            assert_eq!(running.line(), "again");
        }
        space.delete_children("/boss").await;
        let second = pid(&running.line());
        assert!(first != second && !is_alive(first));
        running.ends_by(signal).await;
    }
}

#[tokio::test]
async fn a_program_that_ends_by_itself_ends_the_candidacy() {
    let space = Space::new();
    let ended = space.zklock("lead /boss").shell("echo once; exit 4").run();
    assert_eq!((ended.code, ended.out.as_str()), (4, "once\n"));
    assert!(space.children("/boss").await.is_empty());
}

#[tokio::test]
async fn a_candidate_that_is_told_to_end_leaves_the_election() {
    let space = Space::new();
    let mut leader = space.zklock("lead /boss").shell(SCRIPT).start();
    leader.line();
    let mut follower = space.zklock("lead /boss").shell("echo ran").start();
    space.until_queued("/boss", 2).await;
    follower.ends_by(Signal::SIGTERM).await;
    assert_eq!((space.children("/boss").await.len(), follower.rest().as_str()), (1, ""));
}

#[tokio::test]
async fn the_program_of_a_stopped_leader_has_ended_when_another_leads() {
    let (space, beat) = (Space::new(), Beat::new());
    let stopped = beat.under(space.brief("lead /boss"), Manners::Ignores).start();
    let program = beat.begun().await;
    let client = space.client().await;
    stopped.signal(Signal::SIGSTOP);
    let latch = client.leader_latch("/boss").unwrap();
    let term = crate::support::soon(latch.leadership()).await.unwrap();
    let elected = crate::beat::now();
    assert!(!is_alive(program) && beat.last().unwrap().0 < elected);
    assert!(term.is_leading());
    latch.close().await.unwrap();
}

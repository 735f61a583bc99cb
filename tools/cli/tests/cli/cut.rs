//! The connection of a program under a lock is cut, and may be restored.

use nix::sys::signal::Signal;
use zklock_testkit::Direction;

use crate::running::is_alive;
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

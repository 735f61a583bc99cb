//! `zklock` and Curator's locks in Java.

use nix::sys::signal::Signal;

use crate::peer::Peer;
use crate::support::{SESSION, Space, soon};
use crate::waiting::SOON;

#[tokio::test]
async fn a_program_and_holders_in_java_exclude_each_other() {
    let space = Space::new();
    let peer = Peer::start(space.connect_string(), SESSION);
    let mut java = peer.actor("mutex", &space.full("/a")).await;
    assert!(java.try_acquire("exclusive", SOON).await);
    assert_eq!(space.zklock("exec /a --no-wait").shell("exit 0").run().code, 75);
    let mut running = space.waiter("/a");
    space.until_queued("/a", 2).await;
    java.ask("release exclusive").await;
    assert_eq!(running.line(), "held");
    java.order("acquire exclusive");
    space.until_queued("/a", 2).await;
    java.assert_busy();
    running.ends_by(Signal::SIGTERM).await;
    soon(java.answer()).await;
    java.ask("release exclusive").await;
}

#[tokio::test]
async fn readers_writers_and_permits_of_programs_and_in_java_count_together() {
    let space = Space::new();
    let peer = Peer::start(space.connect_string(), SESSION);
    let code = |options: &str| space.zklock(&format!("exec {options} --no-wait")).shell("exit 0").run().code;
    let mut java = peer.actor("rwlock", &space.full("/rw")).await;
    assert!(java.try_acquire("read", SOON).await);
    assert_eq!((code("/rw --mode read"), code("/rw --mode write")), (0, 75));
    java.ask("release read").await;
    assert!(java.try_acquire("write", SOON).await);
    assert_eq!((code("/rw --mode read"), code("/rw --mode write")), (75, 75));
    java.ask("release write").await;
    let mut java = peer.actor("semaphore", &space.full("/permits")).await;
    assert!(java.try_acquire("2", SOON).await);
    assert_eq!((code("/permits --permits 1 --of 3"), code("/permits --permits 2 --of 3")), (0, 75));
    java.ask("release 2").await;
    assert_eq!(code("/permits --permits 3 --of 3"), 0);
}

#[tokio::test]
async fn holders_in_java_are_listed_asked_to_release_and_removed() {
    let space = Space::new();
    let peer = Peer::start(space.connect_string(), SESSION);
    let mut java = peer.actor("mutex", &space.full("/a")).await;
    assert!(java.try_acquire("exclusive", SOON).await);
    let _waits = space.waiter("/a --identity shell");
    space.until_queued("/a", 2).await;
    let who = space.zklock("who /a").run().out;
    let standings: Vec<_> = who.lines().skip(1).filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(standings, ["holds", "waits"], "{who}");
    assert!(who.lines().nth(1).unwrap().contains(&format!("{:#x}", peer.session_id().unwrap())), "{who}");
    let listed = space.zklock("ls").run().out;
    let row: Vec<_> = listed.lines().nth(1).unwrap().split_whitespace().take(4).collect();
    assert_eq!(row, ["/a", "mutex", "1", "1"]);
    assert_eq!(space.zklock("revoke /a --yes").run().code, 0);
    let removed = space.zklock("break /a --yes").run();
    assert_eq!(removed.code, 0, "{}", removed.err);
    space.until_queued("/a", 1).await;
    assert!(space.zklock("who /a").run().out.contains("shell"));
}

//! `zklock ls`, `who` and `watch`, and what lists leave out.

use nix::sys::signal::Signal;
use serde_json::{Value, json};
use vt100::Parser;
use zookeeper_client as zk;

use crate::running::{Ended, writes_to_full_pipe};
use crate::screen::{COLUMNS, ROWS, on_screen};
use crate::support::Space;
use crate::waiting::until;
use crate::zklock::{full_disk, full_pipe};

fn objects(ended: &Ended) -> Vec<Value> {
    assert_eq!(ended.code, 0, "{}", ended.err);
    ended.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test]
async fn locks_are_listed_with_their_kind_holder_and_waiters() {
    let space = Space::new();
    assert_eq!(space.zklock("ls").run().out, "PATH  KIND  HELD  WAITING  SINCE  FIRST\n");
    let _holder = space.holder("/jobs/a --identity first");
    let _reader = space.holder("/jobs/b --mode read --identity reader");
    let _waiter = space.waiter("/jobs/a --identity second");
    space.until_queued("/jobs/a", 2).await;
    let text = space.zklock("ls /jobs").run().out;
    let rows: Vec<Vec<_>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[1][..4], ["/jobs/a", "mutex", "1", "1"]);
    assert_eq!(
        (rows[1][5], &rows[2][..4], rows[2][5]),
        ("first", &["/jobs/b", "rwlock", "1", "0"][..], "reader")
    );
    let listed = objects(&space.zklock("ls --json").run());
    assert_eq!(listed.len(), 2);
    assert_eq!((&listed[0]["path"], &listed[0]["waiting"]), (&"/jobs/a".into(), &1.into()));
    let bounded = space.zklock("ls --nodes 1").run();
    assert!(bounded.err.contains("left out: 1 nodes"), "{}", bounded.err);
    let who = objects(&space.zklock("who /jobs/a --json").run());
    let seen: Vec<_> = who.iter().map(|one| (one["standing"].as_str(), one["identity"].as_str())).collect();
    assert_eq!(seen, [(Some("holds"), Some("first")), (Some("waits"), Some("second"))]);
    assert_eq!(space.zklock("who /jobs/a").out_to(full_disk()).run().code, 74);
}

#[tokio::test]
async fn a_list_without_locks_says_so() {
    let space = Space::new();
    let _holder = space.holder("/jobs/a");
    let below = |path: &str| format!("no lock is held or waited for at {path} and below it");
    let at = |path: &str| {
        format!("no lock is held or waited for at {path}; zklock ls {path} lists those below it")
    };
    // A path without a node, and one that is only above a lock.
    let lists = [("ls /none", below("/none")), ("who /none", at("/none")), ("who /jobs", at("/jobs"))];
    for (command, message) in lists {
        let text = space.zklock(command).run();
        assert_eq!((text.code, text.err), (0, format!("zklock: {message}\n")), "{command}");
        assert_eq!(text.out.lines().count(), 1, "{command}: the heading");
        let json = space.zklock(&format!("{command} --json")).run();
        let (_, path) = command.split_once(' ').unwrap();
        let event: Value = serde_json::from_str(json.err.trim()).unwrap();
        assert_eq!(event, json!({"event": "nothing", "path": path}), "{command}");
        assert_eq!((json.code, json.out.as_str()), (0, ""), "{command}");
    }
    for command in ["ls", "ls /jobs", "who /jobs/a"] {
        assert_eq!(space.zklock(command).run().err, "", "{command}");
    }
}

#[tokio::test]
async fn changes_are_printed_as_they_come_until_the_command_is_interrupted() {
    let space = Space::new();
    let mut watch = space.zklock("watch /jobs --interval 20ms --json").start();
    let mut change = || {
        let change: Value = serde_json::from_str(&watch.line()).unwrap();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        (text(&change["change"]), text(&change["path"]), text(&change["participant"]["identity"]))
    };
    let told = |change: &str, who: &str| (change.to_owned(), "/jobs/a".to_owned(), who.to_owned());
    let first = space.holder("/jobs/a --identity first");
    assert_eq!(change(), told("holds", "first"));
    let _second = space.waiter("/jobs/a --identity second");
    assert_eq!(change(), told("waits", "second"));
    first.signal(Signal::SIGTERM);
    assert_eq!(change(), told("leaves", "first"));
    assert_eq!(change(), told("holds", "second"));
    watch.ends_by(Signal::SIGINT).await;
    assert_eq!(space.zklock("watch /jobs").out_to(full_disk()).run().code, 74);
}

#[tokio::test]
async fn a_signal_ends_a_command_whose_output_nobody_reads() {
    let space = Space::new();
    let _holder = space.holder("/a");
    for command in ["ls", "who /a --json", "watch"] {
        let mut stalled = space.zklock(command).out_to(full_pipe()).start();
        until(async || writes_to_full_pipe(stalled.pid()), "it writes").await;
        stalled.ends_by(Signal::SIGTERM).await;
    }
}

#[tokio::test]
async fn a_persistent_node_in_a_queue_is_named_as_one() {
    let space = Space::new();
    let outsider = space.outsider().await;
    let mode = |mode: zk::CreateMode| mode.with_acls(zk::Acls::anyone_all());
    outsider.mkdir(&space.full("/jobs/a"), &mode(zk::CreateMode::Persistent)).await.unwrap();
    let node = space.full("/jobs/a/x-lock-");
    outsider.create(&node, b"host", &mode(zk::CreateMode::PersistentSequential)).await.unwrap();
    let named = "persistent node /jobs/a/x-lock-0000000000: no session owns it, and it stays until somebody deletes it";
    for command in ["who /jobs/a", "ls"] {
        let shown = space.zklock(command).run().out;
        assert!(shown.contains(named), "{command}: {shown}");
    }
    let who = objects(&space.zklock("who /jobs/a --json").run());
    assert_eq!((&who[0]["persistent"], &who[0]["identity"]), (&true.into(), &"host".into()));
}

/// The most nodes of a queue that are listed, and one more.
const TOO_MANY: usize = 10_001;
const IN_A_TRANSACTION: usize = 1_000;

/// Creates a semaphore whose queue is too long.
async fn large_semaphore(space: &Space, path: &str) {
    let outsider = space.outsider().await;
    let options = zk::CreateMode::Persistent.with_acls(zk::Acls::anyone_all());
    let leases = space.full(&format!("{path}/leases"));
    for parent in [&leases, &space.full(&format!("{path}/locks"))] {
        outsider.mkdir(parent, &options).await.unwrap();
    }
    let names: Vec<_> = (0..TOO_MANY).map(|number| format!("{leases}/x-lease-{number:010}")).collect();
    for names in names.chunks(IN_A_TRANSACTION) {
        let mut writer = outsider.new_multi_writer();
        names.iter().try_for_each(|name| writer.add_create(name, b"", &options)).unwrap();
        writer.commit().await.unwrap();
    }
}

fn left_out(line: &str) -> Value {
    let event: Value = serde_json::from_str(line).unwrap();
    assert_eq!(event["event"], "left_out", "{event}");
    event["left_out"].clone()
}

#[tokio::test]
async fn a_semaphore_whose_queue_is_too_long_is_told_and_not_taken_for_a_free_one() {
    let space = Space::new();
    large_semaphore(&space, "/large").await;
    for command in ["ls", "who /large"] {
        let text = space.zklock(command).ends(0);
        assert!(text.err.contains("left out: 1 nodes; "), "{command}: {}", text.err);
        let json = space.zklock(&format!("{command} --json")).run();
        assert_eq!(left_out(&json.err)["nodes"], 1, "{command}");
    }
    for command in ["break", "revoke"] {
        let ended = space.zklock(&format!("{command} /large --yes")).ends(70);
        assert!(ended.err.contains("left out: 1 nodes; "), "{command}: {}", ended.err);
    }
    let mut watch = space.zklock("watch --interval 20ms --json").err_to_out().start();
    assert_eq!(left_out(&watch.line())["nodes"], 1);
    assert_eq!(left_out_of_top(&space)["nodes"], 1);
}

fn left_out_of_top(space: &Space) -> Value {
    let mut top = space.zklock("top --interval 20ms --json").start();
    serde_json::from_str::<Value>(&top.line()).unwrap()["left_out"].clone()
}

#[tokio::test]
async fn participants_beyond_the_bound_are_told_once_for_each_change() {
    let space = Space::new();
    let _first = space.holder("/a --identity first");
    let mut watch = space.zklock("watch --interval 20ms --most 1 --json").err_to_out().start();
    assert!(watch.line().contains(r#""change":"holds""#));
    let _second = space.waiter("/a --identity second");
    assert_eq!(left_out(&watch.line())["participants"], 1);
    let _third = space.waiter("/a --identity third");
    assert_eq!(left_out(&watch.line())["participants"], 2);
    let who = space.zklock("who /a --most 1").run();
    assert!(who.out.contains("first") && !who.out.contains("second"), "{}", who.out);
    assert!(who.err.contains("left out: 2 participants; "), "{}", who.err);
    let who = space.zklock("who /a --most 1 --json").run();
    assert_eq!(left_out(&who.err), json!({"nodes": 0, "participants": 2, "locks": 0, "waiters": 0}));
    assert_eq!(space.zklock("who /a --most 3").run().err, "");
    let mut terminal = on_screen(&space, "top --interval 20ms --most 1").start();
    let mut screen = Parser::new(ROWS, COLUMNS, 0);
    terminal.until_shown(&mut screen, |text| text.contains("left out: 2 participants"));
}

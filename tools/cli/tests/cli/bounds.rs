//! Lists that do not have everything say so.

use serde_json::{Value, json};
use vt100::Parser;
use zookeeper_client as zk;

use crate::screen::{COLUMNS, ROWS, on_screen};
use crate::support::Space;

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

fn event(line: &str) -> Value {
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
        assert_eq!(event(&json.err)["nodes"], 1, "{command}");
    }
    for command in ["break", "revoke"] {
        let ended = space.zklock(&format!("{command} /large --yes")).ends(70);
        assert!(ended.err.contains("left out: 1 nodes; "), "{command}: {}", ended.err);
    }
    let mut watch = space.zklock("watch --interval 20ms --json").err_to_out().start();
    assert_eq!(event(&watch.line())["nodes"], 1);
    assert_eq!(event_of_top(&space)["nodes"], 1);
}

fn event_of_top(space: &Space) -> Value {
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
    assert_eq!(event(&watch.line())["participants"], 1);
    let _third = space.waiter("/a --identity third");
    assert_eq!(event(&watch.line())["participants"], 2);
    let who = space.zklock("who /a --most 1").run();
    assert!(who.out.contains("first") && !who.out.contains("second"), "{}", who.out);
    assert!(who.err.contains("left out: 2 participants; "), "{}", who.err);
    let who = space.zklock("who /a --most 1 --json").run();
    assert_eq!(event(&who.err), json!({"nodes": 0, "participants": 2, "locks": 0, "waiters": 0}));
    assert_eq!(space.zklock("who /a --most 3").run().err, "");
    let mut terminal = on_screen(&space, "top --interval 20ms --most 1").start();
    let mut screen = Parser::new(ROWS, COLUMNS, 0);
    terminal.until_shown(&mut screen, |text| text.contains("left out: 2 participants"));
}

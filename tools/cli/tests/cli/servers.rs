//! `zklock doctor`.

use std::time::Duration;

use nix::sys::signal::Signal;
use serde_json::{Value, json};
use zklock_testkit::Direction;
use zklock_testkit::wire::Opcode;
use zookeeper_client as zk;

use crate::signals::catches;
use crate::support::Space;
use crate::waiting::until;
use crate::zklock::Zklock;

#[tokio::test]
async fn a_doctor_finds_nothing_to_change_where_the_settings_fit_the_server() {
    let space = Space::new();
    let outsider = space.outsider().await;
    let options = zk::CreateMode::Persistent.with_acls(zk::Acls::anyone_all());
    outsider.mkdir(&space.namespace, &options).await.unwrap();
    let ended = space.zklock("doctor --json").run();
    let report: Value = serde_json::from_str(&ended.out).unwrap();
    // A machine under load may be slow.
    let is_slow = |advice: &&Value| advice.as_str().unwrap().starts_with("a write takes longer");
    let (slow, other): (Vec<_>, Vec<_>) = report["advice"].as_array().unwrap().iter().partition(is_slow);
    assert!(other.is_empty(), "{}", ended.out);
    assert_eq!(ended.code, if slow.is_empty() { 0 } else { 78 });
    assert_eq!(
        (&report["tick_time_ms"], &report["session"]["granted_ms"]),
        (&500.0.into(), &60_000.0.into())
    );
    assert_eq!(report["mode"], "standalone");
    assert!(report["session"]["reads"]["p50_ms"].as_f64().unwrap() > 0.0);
    let left = outsider.list_children(&space.namespace).await.unwrap();
    assert_eq!(left, [""; 0], "it leaves nothing behind");
}

/// Each case has options, the exit codes without and with advice, and the texts that the report has and has not.
#[tokio::test]
async fn a_doctor_says_which_settings_do_not_fit_a_server_and_which_servers_do_not_answer() {
    let space = Space::new();
    let raise = "to change   set tick_time to 500ms, which is the server's; it is 100ms here";
    let (grant, none) = ("to change   set session_timeout to 60s", "127.0.0.1:1\n  session     none: ");
    // Clients are to be the first whose tick is raised.
    let note = "to look at  tick_time is 2s here and 500ms at the server: locks are lost that much earlier";
    let two = format!("--connect-timeout 5s --connect {},127.0.0.1:1/chroot", space.connect_string());
    for (options, codes, has, has_not) in [
        ("--tick-time 100ms --session-timeout 90s", [78, 78], [raise, grant], none),
        // Whether a machine under load is slow depends on the load.
        (
            "--tick-time 2s",
            [0, 78],
            [note, "access      at /: create granted, read granted, delete granted"],
            raise,
        ),
        (two.as_str(), [69, 69], [none, "(standalone)"], note),
    ] {
        let ended = space.zklock(&format!("doctor {options}")).run();
        let has_advice = ended.out.contains("  to change  ");
        assert_eq!(ended.code, codes[usize::from(has_advice)], "{options}: {} {}", ended.out, ended.err);
        assert!(has.iter().all(|text| ended.out.contains(text)), "{options}: {}", ended.out);
        assert!(!ended.out.contains(has_not), "{options}: {}", ended.out);
    }
}

#[tokio::test]
async fn a_doctor_says_which_permissions_the_namespace_lacks() {
    let space = Space::new();
    for (permission, advice) in [
        (zk::Permission::READ | zk::Permission::DELETE, "permit this client to create nodes at"),
        (zk::Permission::CREATE | zk::Permission::DELETE, "permit this client to read nodes at"),
        (zk::Permission::CREATE | zk::Permission::READ, "permit this client to delete nodes at"),
        (zk::Permission::ADMIN, "permit this client to create, read nodes at"),
    ] {
        let node = space.full(&format!("-{permission:?}").replace([' ', '|', '(', ')'], ""));
        let acl = [zk::Acl::new(permission, zk::AuthId::anyone())];
        let options = zk::CreateMode::Persistent.with_acls(acl.as_slice().into());
        space.outsider().await.create(&node, b"", &options).await.unwrap();
        let ended = space.zklock("doctor --namespace").arg(format!("{node}/app")).ends(78);
        assert!(ended.out.contains(&format!("{advice} {node}\n")), "{}", ended.out);
    }
}

#[tokio::test]
async fn a_doctor_at_a_slow_server_ends_and_names_it_as_it_was_given() {
    let space = Space::new();
    let proxy = space.proxy();
    // All questions together take longer than tests wait.
    proxy.delay(Direction::ToClient, Duration::from_millis(250));
    let given = format!("tcp://{}", proxy.connect_string());
    let zklock = space.zklock_at(&given, "doctor --default-wait 3s --json");
    let ended = zklock.run();
    let report: Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(report["server"], given);
    assert!(report["session"]["reads"]["p50_ms"].as_f64().unwrap() >= 250.0, "{report}");
}

#[tokio::test]
async fn a_doctor_names_the_question_that_a_server_does_not_answer() {
    let space = Space::new();
    let proxy = space.proxy();
    let _unheard = proxy.on_request(Opcode::GET_CHILDREN).always().discard();
    let ended = space.zklock_at(proxy.connect_string(), "doctor --default-wait 3s").ends(78);
    assert!(ended.out.contains("find out why nodes cannot be looked at: no answer in time"), "{}", ended.out);
}

#[tokio::test]
async fn a_signal_ends_a_doctor_at_a_silent_server() {
    let space = Space::new();
    let proxy = space.proxy();
    proxy.blackhole(Direction::ToClient);
    let zklock = space.zklock_at(proxy.connect_string(), "doctor --connect-timeout 60s");
    let mut running = zklock.start();
    until(async || catches(running.pid(), Signal::SIGTERM), "it catches signals").await;
    running.ends_by(Signal::SIGTERM).await;
}

#[test]
fn a_doctor_names_the_reason_why_there_is_no_session() {
    let ended = Zklock::new("doctor --json --connect-timeout 2s --connect 127.0.0.1:1").ends(69);
    let report: Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!((&report["server"], &report["advice"]), (&"127.0.0.1:1".into(), &json!([])));
    assert!(report["error"].as_str().unwrap_or_default().contains("refuses connections"), "{report}");
}

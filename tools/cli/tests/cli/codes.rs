//! The exit codes of zklock's own.

use crate::support::Space;
use crate::zklock::{Zklock, full_disk};

#[test]
fn a_wrong_command_line_or_path_is_a_matter_of_usage_and_no_server_is_asked() {
    let looks = ["watch --interval 0s", "top --json --interval 9ms"];
    let servers = ["serve --server-tick 0s", "serve --server-tick 2h"];
    // A leader whose program went on without its term would run it beside the next leader's, and once more after that.
    let programs =
        ["lead /a --on-lost continue -- true", "", "exec", "exec /a", "exec /a --wait 5 -- true", "nothing"];
    for arguments in programs.into_iter().chain(looks).chain(servers) {
        let ended = Zklock::new(arguments).run();
        assert_eq!((ended.code, ended.out.as_str()), (64, ""), "{arguments}: {}", ended.err);
    }
    assert_eq!(Zklock::new("--help").run().code, 0);
    assert_eq!(Zklock::new("exec --help").out_to(full_disk()).run().code, 74);
}

#[test]
fn a_server_that_does_not_answer_is_unavailable() {
    let connect = "--connect 127.0.0.1:1 --connect-timeout 50ms";
    for command in ["exec /a -- true", "lead /a -- true"] {
        let ended = Zklock::new(&format!("{connect} {command}")).ends(69);
        assert!(ended.err.contains("cannot connect to ZooKeeper at 127.0.0.1:1"), "{}", ended.err);
    }
}

#[test]
fn a_wrong_setting_is_one_of_the_configuration() {
    for setting in ["--namespace relative", "--session-timeout 0s", "--config /nonexistent.toml"] {
        Zklock::new(&format!("exec {setting} /a -- true")).ends(78);
    }
}

#[tokio::test]
async fn programs_that_cannot_run_have_the_codes_of_a_shell() {
    let space = Space::new();
    for (program, code) in [("nonexistent-program", 127), ("/etc/passwd", 126)] {
        let ended = space.zklock(&format!("exec /a -- {program}")).ends(code);
        assert!(ended.err.contains(&format!("cannot run {program}")), "{}", ended.err);
    }
    assert_eq!(space.zklock("exec /a").shell("kill -KILL $$").run().code, 137);
    // A real-time signal.
    assert_eq!(space.zklock("exec /a").shell("kill -40 $$").run().code, 168);
    assert_eq!(space.zklock("exec relative").shell("echo ran").run().code, 64);
    assert!(space.children("/a").await.is_empty());
}

//! The configuration by the command line, the environment and a file, and credentials.

use crate::support::Space;
use crate::zklock::Zklock;

#[tokio::test]
async fn settings_come_from_a_file_the_environment_and_the_command_line() {
    let space = Space::new();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("zklock.toml");
    let connect = space.connect_string();
    std::fs::write(&file, format!("connect = '{connect}'\nnamespace = '/file'\nsession_timeout = '60s'\n"))
        .unwrap();
    let (variable, line) = (space.full("/variable"), space.full("/line"));
    let of_file = || Zklock::new("exec /a").arg("--config").arg(&file);
    let of_variable = || of_file().env("ZKLOCK_NAMESPACE", &variable);
    for (zklock, namespace) in [
        (of_file(), "/file"),
        (of_variable(), &variable),
        (of_variable().arg("--namespace").arg(&line), &line),
    ] {
        let mut running = zklock.shell("echo held; exec sleep 1000").start();
        assert_eq!(running.line(), "held");
        let children = space.outsider().await.list_children(&format!("{namespace}/a")).await.unwrap();
        assert_eq!(children.len(), 1, "{namespace}");
    }
}

#[tokio::test]
async fn credentials_are_read_from_the_environment_or_a_file_and_others_are_denied() {
    let space = Space::new();
    let owner = || space.zklock("exec /a --acl creator_all").env("ZKLOCK_DIGEST", "user:topsecret");
    let mut running = owner().shell("cat /proc/$PPID/cmdline; echo; exec sleep 1000").start();
    assert!(!running.line().contains("topsecret"), "others can read the arguments");
    space.zklock("exec /a --no-wait").shell("exit 0").ends(77);
    assert_eq!(owner().arg("--no-wait").shell("exit 0").run().code, 75);

    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("zklock.toml");
    let with = |digests: &str| {
        std::fs::write(&file, format!("digests = {digests}\nacl = 'creator_all'\n")).unwrap();
        space.zklock("exec /a --no-wait --config").arg(&file).shell("exit 0").run()
    };
    for digests in ["'user:topsecret'", "['user:topsecret']"] {
        let contended = with(digests);
        assert_eq!(contended.code, 75, "{}", contended.err);
    }
    let wrong = with("{ user = 'topsecret' }");
    assert_eq!(wrong.code, 78, "{}", wrong.err);
    assert!(wrong.err.contains("digests") && !wrong.err.contains("topsecret"), "{}", wrong.err);
}

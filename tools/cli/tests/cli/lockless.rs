//! The commands that need no lock: `zklock serve`, completions and manual pages.

use nix::sys::signal::Signal;

use crate::zklock::{Zklock, full_disk};

#[tokio::test]
async fn a_server_for_development_says_that_it_keeps_nothing_and_serves_locks() {
    let mut server = Zklock::new("serve --data none --listen 127.0.0.1:0").start();
    let line = server.line();
    let address = line.strip_prefix("listening on ").expect("it tells its address").to_owned();
    assert!(server.line().contains("keeps nothing"));
    Zklock::new("exec /a --connect").arg(&address).shell("exit 5").ends(5);
    Zklock::new("serve --data none --listen").arg(&address).ends(70);
    server.ends_by(Signal::SIGTERM).await;
}

#[test]
fn completions_are_there_for_each_shell() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ended = Zklock::new(&format!("completions {shell}")).run();
        assert!(ended.code == 0 && ended.out.contains("completions"), "{shell}");
    }
    assert_eq!(Zklock::new("completions bash").out_to(full_disk()).run().code, 74);
}

#[test]
fn manual_pages_are_there_for_each_command() {
    let page = Zklock::new("man").run();
    assert!(page.code == 0 && page.out.contains(".TH zklock 1") && page.out.contains("Exit codes"));
    let directory = tempfile::tempdir().unwrap();
    Zklock::new("man --directory").arg(directory.path()).ends(0);
    for page in ["zklock.1", "zklock-exec.1", "zklock-lead.1"] {
        assert!(directory.path().join(page).is_file(), "{page}");
    }
}

//! Completions and manual pages.

use crate::zklock::{Zklock, full_disk};

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

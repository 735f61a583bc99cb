//! Locks on several real servers and beside a database.

mod diagnose;
mod ensemble;
mod fencing;
#[cfg(soak)]
mod late;
mod reconnects;
#[cfg(soak)]
mod release;
#[cfg(soak)]
mod silence;
#[path = "../../../tests/it/support/mod.rs"]
#[allow(dead_code, unused_imports, reason = "the tests of the root package use the rest")]
mod support;
#[cfg(soak)]
mod unlisted;

#[test]
fn the_page_about_the_client_library_is_about_the_version_that_is_locked() {
    let page = include_str!("../../../docs/zookeeper-client.md");
    let lock = include_str!("../../../Cargo.lock");
    let version = lock.split("name = \"zookeeper-client\"\nversion = \"").nth(1).unwrap();
    let version = version.split('"').next().unwrap();
    assert!(
        page.contains(&format!("`zookeeper-client` {version}")),
        "docs/zookeeper-client.md is not about {version}; read the library again before you name that version there"
    );
}

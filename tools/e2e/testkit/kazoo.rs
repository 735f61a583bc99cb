//! Servers as seen by kazoo, a client in Python that knows nothing of zklock.
//!
//! The test fails without Python with `venv` and pip, without a package index, and on any disagreement.

mod python;

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use zklock_testkit::{EmbeddedServer, ZooKeeper};

use python::{python_with_kazoo, run};

const CHECKS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/testkit/kazoo/checks.py");

#[test]
fn kazoo_finds_nothing_wrong() {
    let python = python_with_kazoo();
    check(&python, EmbeddedServer::start().unwrap().address());
    check(&python, ZooKeeper::start().unwrap().address());
}

fn check(python: &Path, server: SocketAddr) {
    let output = run(Command::new(python).arg(CHECKS).arg(server.to_string()));
    assert!(output.ends_with("kazoo: all ok\n"), "{output}");
}

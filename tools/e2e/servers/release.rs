//! A release of ZooKeeper that no package of Debian has. Its jars come with a package of PyPI.

use std::env;
use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use zklock_testkit::Installation;

/// The package, whose jars are ZooKeeper 3.9.4 and those that it needs.
const PACKAGE: &str = "pyspark==4.1.0";
const JARS: [&str; 7] =
    ["zookeeper-", "netty-", "audience-", "commons-io-", "metrics-core-", "snappy-java-", "slf4j-api-"];

/// Finds ZooKeeper 3.9.4, which is downloaded and unpacked once.
pub(crate) fn zookeeper_3_9_4() -> Installation {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let home = place.join("zookeeper-3.9.4");
    let lock = File::create(place.join("zookeeper.lock")).unwrap();
    lock.lock().unwrap();
    if !home.is_dir() {
        let new = tempfile::tempdir_in(place).unwrap();
        download(new.path());
        fs::rename(new.path(), &home).unwrap();
    }
    let lookup =
        |name: &str| if name == "ZOOKEEPER_HOME" { Some(home.clone().into()) } else { env::var_os(name) };
    Installation::find_with(lookup).unwrap_or_else(|error| panic!("{error}"))
}

fn download(home: &Path) {
    run(Command::new("python3")
        .args(["-m", "pip", "download", "--quiet", "--no-deps", PACKAGE, "--dest"])
        .arg(home));
    let archive = fs::read_dir(home).unwrap().next().expect("pip has stored a file").unwrap().path();
    let lib = home.join("lib");
    fs::create_dir(&lib).unwrap();
    let jars = JARS.map(|name| format!("*/deps/jars/{name}*"));
    run(Command::new("tar")
        .arg("-xzf")
        .arg(&archive)
        .arg("-C")
        .arg(&lib)
        .args(["--strip-components=3", "--wildcards"])
        .args(jars));
    fs::remove_file(archive).unwrap();
}

fn run(command: &mut Command) {
    let status = command.status().unwrap_or_else(|error| panic!("cannot run {command:?}: {error}"));
    assert!(status.success(), "{command:?} ended with {status}");
}

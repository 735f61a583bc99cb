//! The launcher, with a real ZooKeeper.

use std::ffi::OsString;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use zklock_testkit::{Curator, Error, Installation, Kerberos, PostgreSql, Tool, ZooKeeper};

mod logins;
mod tls;

use crate::process::{Owner, owner_orders, process_state, tell_of, wait_to_be_killed, wait_until};

#[test]
fn a_server_starts_and_answers() {
    let zookeeper = ZooKeeper::start().unwrap();
    assert_eq!(zookeeper.connect_string(), zookeeper.address().to_string());
    assert!(zookeeper.address().ip().is_loopback());
    assert_eq!(zookeeper.four_letter("ruok").unwrap(), "imok");
    assert_eq!(zookeeper.watch_count(), 0);
    let packets = zookeeper.packets_received();
    assert_eq!(zookeeper.packets_received(), packets + 1);
}

#[test]
fn options_reach_the_server() {
    let millis = Duration::from_millis;
    let builder = ZooKeeper::builder().tick_time(millis(500)).min_session_timeout(millis(700));
    let builder = builder.max_session_timeout(millis(9000)).system_property("zklock.test", "yes");
    let zookeeper = builder.start().unwrap();
    let conf = zookeeper.four_letter("conf").unwrap();
    for expected in ["tickTime=500\n", "minSessionTimeout=700\n", "maxSessionTimeout=9000\n"] {
        assert!(conf.contains(expected), "{conf}");
    }
    let command = fs::read(format!("/proc/{}/cmdline", zookeeper.pid().unwrap())).unwrap();
    assert!(String::from_utf8_lossy(&command).contains("-Dzklock.test=yes"));
}

#[test]
fn two_servers_share_nothing() {
    let servers = [ZooKeeper::start().unwrap(), ZooKeeper::start().unwrap()];
    let [one, other] = &servers;
    assert_ne!(one.address(), other.address());
    assert_ne!(one.directory(), other.directory());
    one.kill().unwrap();
    assert_eq!(other.four_letter("ruok").unwrap(), "imok");
}

#[test]
fn a_paused_server_resumes() {
    let zookeeper = ZooKeeper::start().unwrap();
    let pid = zookeeper.pid().unwrap();
    zookeeper.pause().unwrap();
    wait_until("the process stops", || process_state(pid) == Some('T'));
    assert!(zookeeper.four_letter("ruok").is_err());
    zookeeper.resume().unwrap();
    wait_until("the server answers", || zookeeper.four_letter("ruok").is_ok_and(|answer| answer == "imok"));
    assert_eq!(zookeeper.pid(), Some(pid));
}

#[test]
fn a_killed_server_restarts_with_its_address_and_data() {
    let zookeeper = ZooKeeper::start().unwrap();
    let (address, pid) = (zookeeper.address(), zookeeper.pid().unwrap());
    open_session(&zookeeper);
    let written = last_transaction(&zookeeper);
    assert_ne!(written, "Zxid: 0x0");
    zookeeper.kill().unwrap();
    assert_eq!(process_state(pid), None);
    assert_eq!(zookeeper.pid(), None);
    assert!(zookeeper.four_letter("ruok").is_err());
    assert!(matches!(zookeeper.pause(), Err(Error::NotRunning { .. })));
    zookeeper.restart().unwrap();
    assert_eq!(zookeeper.address(), address);
    assert_ne!(zookeeper.pid(), Some(pid));
    assert_eq!(last_transaction(&zookeeper), written);
}

/// Makes the server write a transaction, without a client library.
fn open_session(zookeeper: &ZooKeeper) {
    let (timeout, password) = (30_000_u32.to_be_bytes(), 16_u32.to_be_bytes());
    // The parts: length, protocol version and last zxid seen, timeout, session id, password.
    let request = [&44_u32.to_be_bytes()[..], &[0; 12], &timeout, &[0; 8], &password, &[0; 16]].concat();
    let mut stream = TcpStream::connect(zookeeper.address()).unwrap();
    stream.write_all(&request).unwrap();
    stream.read_exact(&mut [0; 4]).unwrap();
}

fn last_transaction(zookeeper: &ZooKeeper) -> String {
    let state = zookeeper.four_letter("srvr").unwrap();
    state.lines().find(|line| line.starts_with("Zxid")).unwrap().to_owned()
}

#[test]
fn a_stopped_server_leaves_nothing() {
    let zookeeper = ZooKeeper::start().unwrap();
    let (pid, directory) = (zookeeper.pid().unwrap(), zookeeper.directory().to_owned());
    zookeeper.stop().unwrap();
    assert_eq!(process_state(pid), None);
    assert!(!directory.exists());
}

/// The test that runs as an owner in another process.
const OWNER: &str = "launcher::a_server_ends_with_its_killed_owner";

#[test]
fn a_server_ends_with_its_killed_owner() {
    if let Some(orders) = owner_orders() {
        return own_a_server(&orders);
    }
    Owner::spawn(OWNER, "serve").check_that_nothing_outlives_it(1);
}

#[test]
fn a_paused_server_ends_with_its_killed_owner() {
    Owner::spawn(OWNER, "pause").check_that_nothing_outlives_it(1);
}

#[test]
fn a_killed_server_leaves_no_directory_behind_a_killed_owner() {
    Owner::spawn(OWNER, "kill").check_that_nothing_outlives_it(1);
}

/// Owns a server until this process is killed.
fn own_a_server(orders: &str) {
    let servers = [ZooKeeper::start().unwrap()];
    tell_of(&servers);
    match orders {
        "pause" => servers[0].pause().unwrap(),
        "kill" => servers[0].kill().unwrap(),
        _ => {}
    }
    wait_to_be_killed();
}

/// Returns an environment with the real search path and this variable only.
fn only(variable: &'static str, value: &Path) -> impl Fn(&str) -> Option<OsString> {
    let value = OsString::from(value);
    move |name| match name {
        "PATH" => std::env::var_os(name),
        _ => (name == variable).then(|| value.clone()),
    }
}

#[track_caller]
fn assert_names_location(error: &Error, variable: &str, place: &Path) {
    let message = error.to_string();
    assert!(message.contains(variable) && message.contains(place.to_str().unwrap()), "{message}");
}

#[test]
fn a_wrong_location_is_named() {
    let empty = tempfile::tempdir().unwrap();
    let place = empty.path().join("nowhere");
    for variable in ["ZOOKEEPER_HOME", "ZOOKEEPER_CLASSPATH", "JAVA_HOME"] {
        let error = Installation::find_with(only(variable, &place)).unwrap_err();
        assert_names_location(&error, variable, &place);
    }
    let error = Curator::find_with(only("CURATOR_CLASSPATH", &place)).unwrap_err();
    assert_names_location(&error, "CURATOR_CLASSPATH", &place);
    let error = PostgreSql::find_with(only("POSTGRESQL_BIN", &place)).unwrap_err();
    assert_names_location(&error, "POSTGRESQL_BIN", &place);
    let error = Kerberos::find_with(only("KERBEROS_PATH", &place)).unwrap_err();
    assert_names_location(&error, "KERBEROS_PATH", &place);
    for (tool, variable) in [(Tool::Promtool, "PROMTOOL"), (Tool::Tmux, "TMUX_PROGRAM")] {
        assert_names_location(&tool.find_with(only(variable, &place)).unwrap_err(), variable, &place);
    }
}

#[test]
fn without_a_tool_the_error_says_what_to_install() {
    for (tool, package) in [(Tool::Promtool, "prometheus"), (Tool::Tmux, "tmux")] {
        let error = tool.find_with(|_| None).unwrap_err().to_string();
        assert!(error.contains(&format!("apt-get install {package}`")), "{error}");
    }
}

#[test]
fn without_kerberos_the_error_says_what_to_install() {
    let error = Kerberos::find_with(|_| None).unwrap_err().to_string();
    assert!(error.contains("apt-get install krb5-kdc krb5-admin-server krb5-user`"), "{error}");
}

#[cfg(soak)]
#[test]
fn a_realm_gives_tickets_and_ends_with_its_owner() {
    let kdc = zklock_testkit::Kdc::start().unwrap();
    let worker = kdc.principal("worker").unwrap();
    assert_eq!(worker.name(), format!("worker@{}", kdc.realm()));
    assert!(worker.ticket(&[]).unwrap().is_file());
    assert!(worker.ticket(&["-l"]).unwrap_err().to_string().contains("a program of Kerberos"));
    assert!(kdc.principal("worker").is_err());
    let directory = kdc.config().parent().unwrap().to_owned();
    // A principal keeps the files of its realm.
    drop((kdc, worker));
    assert!(!directory.exists());
}

#[test]
fn a_class_path_without_a_server_shows_the_error_of_java() {
    let empty = tempfile::tempdir().unwrap();
    let installation = Installation::find_with(only("ZOOKEEPER_CLASSPATH", empty.path())).unwrap();
    let error = ZooKeeper::builder().installation(installation).start().unwrap_err();
    assert!(matches!(&error, Error::Exited { log } if log.contains("QuorumPeerMain")), "{error}");
}

#[test]
fn without_java_the_error_says_what_to_install() {
    let directory = tempfile::tempdir().unwrap();
    let classpath = OsString::from(directory.path());
    let error = Installation::find_with(|name| (name == "ZOOKEEPER_CLASSPATH").then(|| classpath.clone()));
    assert!(error.unwrap_err().to_string().contains("apt-get install default-jdk-headless"));
}

/// Checks that a server has this text in a file, and that nobody but its owner may read the files that have it.
#[track_caller]
fn assert_private(zookeeper: &ZooKeeper, text: &str) {
    let entries = fs::read_dir(zookeeper.directory()).unwrap().map(|entry| entry.unwrap().path());
    let holds =
        |path: &PathBuf| fs::read(path).is_ok_and(|data| String::from_utf8_lossy(&data).contains(text));
    let holders: Vec<_> = entries.filter(holds).collect();
    assert!(!holders.is_empty(), "no file has the text");
    for file in holders {
        let mode = file.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", file.display());
    }
}

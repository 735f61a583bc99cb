//! The launcher, with real servers.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::time::Duration;

use zklock_testkit::{Curator, Ensemble, Error, Installation, Kerberos, PostgreSql, Tool, ZooKeeper};

use crate::process::{Owner, has_ended, owner_orders, tell_of, wait_to_be_killed};

#[test]
fn options_reach_every_server() {
    let millis = Duration::from_millis;
    let builder = Ensemble::builder().tick_time(millis(500)).min_session_timeout(millis(700));
    let builder = builder.max_session_timeout(millis(9000)).init_limit(7).sync_limit(3);
    let ensemble = builder.system_property("zklock.test", "yes").start().unwrap();
    for server in ensemble.servers() {
        let conf = server.four_letter("conf").unwrap();
        let options = ["tickTime=500", "minSessionTimeout=700", "maxSessionTimeout=9000"];
        for expected in options.iter().chain(&["initLimit=7", "syncLimit=3"]) {
            assert!(conf.lines().any(|line| line == *expected), "{conf}");
        }
        let command = fs::read(format!("/proc/{}/cmdline", server.pid().unwrap())).unwrap();
        assert!(String::from_utf8_lossy(&command).contains("-Dzklock.test=yes"));
    }
}

#[test]
fn a_dropped_ensemble_leaves_nothing() {
    let ensemble = Ensemble::start().unwrap();
    let server = |server: &ZooKeeper| (server.pid().unwrap(), server.directory().to_owned());
    let left: Vec<_> = ensemble.servers().iter().map(server).collect();
    ensemble.server(0).pause().unwrap();
    drop(ensemble);
    for (pid, directory) in left {
        assert!(has_ended(pid) && !directory.exists());
    }
}

#[test]
fn servers_that_run_stand_still_or_are_killed_end_with_their_killed_owner() {
    if owner_orders().is_some() {
        let ensemble = Ensemble::start().unwrap();
        tell_of(ensemble.servers());
        ensemble.server(0).pause().unwrap();
        ensemble.server(1).kill().unwrap();
        return wait_to_be_killed();
    }
    let owner = "launcher::servers_that_run_stand_still_or_are_killed_end_with_their_killed_owner";
    Owner::spawn(owner, "serve").check_that_nothing_outlives_it(3);
}

/// Returns an environment with the real search path and this variable only.
fn only(variable: &'static str, value: &Path) -> impl Fn(&str) -> Option<OsString> {
    let value = OsString::from(value);
    move |name| match name {
        "PATH" => std::env::var_os(name),
        _ => (name == variable).then(|| value.clone()),
    }
}

/// Looks for programs with a wrong location in this variable.
type Find = fn(&'static str, &Path) -> Error;

#[test]
fn a_wrong_location_is_named() {
    let empty = tempfile::tempdir().unwrap();
    let place = empty.path().join("nowhere");
    let finders: [(&str, Find); 7] = [
        ("ZOOKEEPER_HOME", |name, at| Installation::find_with(only(name, at)).unwrap_err()),
        ("ZOOKEEPER_CLASSPATH", |name, at| Installation::find_with(only(name, at)).unwrap_err()),
        ("JAVA_HOME", |name, at| Installation::find_with(only(name, at)).unwrap_err()),
        ("CURATOR_CLASSPATH", |name, at| Curator::find_with(only(name, at)).unwrap_err()),
        ("POSTGRESQL_BIN", |name, at| PostgreSql::find_with(only(name, at)).unwrap_err()),
        ("KERBEROS_PATH", |name, at| Kerberos::find_with(only(name, at)).unwrap_err()),
        ("PROMTOOL", |name, at| Tool::Promtool.find_with(only(name, at)).unwrap_err()),
    ];
    for (variable, find) in finders {
        let message = find(variable, &place).to_string();
        assert!(message.contains(variable) && message.contains(place.to_str().unwrap()), "{message}");
    }
}

#[test]
fn an_error_says_what_to_install() {
    let directory = tempfile::tempdir().unwrap();
    let jars = OsString::from(directory.path());
    let java = Installation::find_with(|name| (name == "ZOOKEEPER_CLASSPATH").then(|| jars.clone()));
    for (error, packages) in [
        (java.unwrap_err(), "default-jdk-headless"),
        (Tool::Promtool.find_with(|_| None).unwrap_err(), "prometheus"),
        (Kerberos::find_with(|_| None).unwrap_err(), "krb5-kdc krb5-admin-server krb5-user"),
    ] {
        assert!(error.to_string().contains(&format!("apt-get install {packages}")), "{error}");
    }
}

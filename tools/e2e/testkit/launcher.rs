//! The launcher, with real servers.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use zklock_testkit::{
    Curator, Ensemble, Error, Installation, Kerberos, PostgreSql, Promtool, ZooKeeper, eventually,
};

const SOON: Duration = Duration::from_secs(20);

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

/// Makes a test act as the process that owns servers.
const OWNER: &str = "ZKLOCK_TESTKIT_OWNER";

/// Starts servers, tells of them, and waits until this process is killed.
fn own_servers() {
    let ensemble = Ensemble::start().unwrap();
    for server in ensemble.servers() {
        eprintln!("OWNED {} {}", server.pid().unwrap(), server.directory().display());
    }
    ensemble.server(0).pause().unwrap();
    ensemble.server(1).kill().unwrap();
    // A child that outlives its parent must not keep the servers alive. This one ends with the test.
    let mut sibling = Command::new("cat").stdin(Stdio::inherit()).stdout(Stdio::null()).spawn().unwrap();
    eprintln!("READY");
    sibling.wait().unwrap();
}

#[test]
fn servers_that_run_stand_still_or_are_killed_end_with_their_killed_owner() {
    if env::var_os(OWNER).is_some() {
        return own_servers();
    }
    let test = "launcher::servers_that_run_stand_still_or_are_killed_end_with_their_killed_owner";
    let mut owner = Command::new(env::current_exe().unwrap());
    owner.args(["--exact", test, "--nocapture"]).env(OWNER, "yes");
    let mut owner = owner.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let _input_of_the_sibling = owner.stdin.take().unwrap();
    let lines = BufReader::new(owner.stderr.take().unwrap()).lines().map(Result::unwrap);
    let told: Vec<_> = lines.take_while(|line| line != "READY").collect();
    let servers = told.iter().filter_map(|line| line.strip_prefix("OWNED ")?.split_once(' '));
    let servers: Vec<_> = servers.collect();
    assert_eq!(servers.len(), 3);
    owner.kill().unwrap();
    owner.wait().unwrap();
    for (pid, directory) in servers {
        let is_gone = || has_ended(pid.parse().unwrap()) && !Path::new(directory).exists();
        assert!(eventually(SOON, || is_gone().then_some(())).is_some(), "{directory} outlives its owner");
    }
}

/// Returns whether a process has ended, even if its parent has not waited for it yet.
fn has_ended(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_none_or(|(_, state)| state.starts_with(['Z', 'X']))
}

/// Returns an environment with the real search path and this variable only.
fn only(variable: &'static str, value: &Path) -> impl Fn(&str) -> Option<OsString> {
    let value = OsString::from(value);
    move |name| match name {
        "PATH" => env::var_os(name),
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
        ("PROMTOOL", |name, at| Promtool::find_with(only(name, at)).unwrap_err()),
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
        (Promtool::find_with(|_| None).unwrap_err(), "prometheus"),
        (Kerberos::find_with(|_| None).unwrap_err(), "krb5-kdc krb5-admin-server krb5-user"),
    ] {
        assert!(error.to_string().contains(&format!("apt-get install {packages}")), "{error}");
    }
}

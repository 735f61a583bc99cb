//! The places of Debian's packages, and the installation of these packages with `apt-get`.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::find_java;
use crate::Error;
use crate::real::tail;

/// The packages of ZooKeeper's jars, on which no Java runtime depends, and of Java.
///
/// The package `zookeeper` would only add scripts for a system service and a graphical Java runtime.
pub(super) const ZOOKEEPER: &[&str] = &["libzookeeper-java", JAVA[0]];

/// The packages of Curator's jars, which depend on those of its client and framework and on ZooKeeper's, and of Java.
pub(super) const CURATOR: &[&str] = &["libcurator-recipes-java", JAVA[0]];

pub(super) const JAVA: &[&str] = &["default-jdk-headless"];

/// The package of PostgreSQL's server, which depends on the latest version of the distribution.
pub(super) const POSTGRESQL: &[&str] = &["postgresql"];

/// The packages of a key distribution center, of its administrators, and of users.
pub(super) const KERBEROS: &[&str] = &["krb5-kdc", "krb5-admin-server", "krb5-user"];

/// The package with `promtool`, which also contains the server of Prometheus.
pub(super) const PROMETHEUS: &[&str] = &["prometheus"];

const SERVER_JAR: &str = "/usr/share/java/zookeeper.jar";

const CURATOR_JAR: &str = "/usr/share/java/curator-recipes.jar";

/// The jar of the logger, which the other jars do not name themselves.
const LOGGER_JAR: &str = "/usr/share/java/slf4j-simple.jar";

/// The jar that ZooKeeper needs to serve TLS, and that the other jars do not name. It comes with ZooKeeper's package.
const NETTY_JAR: &str = "/usr/share/java/netty-codec.jar";

/// The directory with one subdirectory for each installed version of PostgreSQL.
const POSTGRESQL_VERSIONS: &str = "/usr/lib/postgresql";

const INSTALL: &str = include_str!("install.sh");
/// The exit code of the script where packages cannot be installed.
const CANNOT: i32 = 3;

pub(super) fn classpath() -> Option<Vec<PathBuf>> {
    Path::new(SERVER_JAR).is_file().then(|| vec![SERVER_JAR.into(), LOGGER_JAR.into(), NETTY_JAR.into()])
}

pub(super) fn curator_classpath() -> Option<Vec<PathBuf>> {
    Path::new(CURATOR_JAR).is_file().then(|| vec![CURATOR_JAR.into(), LOGGER_JAR.into()])
}

/// Returns the directories with the programs of PostgreSQL, the latest version first.
pub(super) fn postgresql_programs() -> Vec<PathBuf> {
    let entries = fs::read_dir(POSTGRESQL_VERSIONS).into_iter().flatten().flatten();
    let version = |entry: fs::DirEntry| entry.file_name().to_str()?.parse::<f32>().ok();
    let mut versions: Vec<_> =
        entries.filter_map(|entry| Some((entry.path().join("bin"), version(entry)?))).collect();
    versions.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    versions.into_iter().map(|(programs, _)| programs).collect()
}

/// Calls `find`, and calls it again after installing the missing packages if this process can install them.
pub(super) fn find_or_install<T>(find: impl Fn() -> Result<T, Error>) -> Result<T, Error> {
    match find() {
        Err(error) if !lacking(&error).is_empty() => match install(&lacking(&error))? {
            true => find(),
            false => Err(error),
        },
        found => found,
    }
}

/// Returns the packages whose absence caused the error, or none if installing packages would not help.
fn lacking(error: &Error) -> Vec<&'static str> {
    let Error::Missing { packages, .. } = error else { return Vec::new() };
    let no_java = matches!(find_java(|variable| env::var_os(variable)), Err(Error::Missing { .. }));
    packages.iter().copied().filter(|package| no_java || *package != JAVA[0]).collect()
}

/// Installs packages. Returns `false` if this process cannot.
fn install(packages: &[&str]) -> Result<bool, Error> {
    let mut script = Command::new("/bin/sh");
    let script = script.args(["-c", INSTALL, "install"]).args(packages);
    let output = script.stdin(Stdio::null()).stderr(Stdio::inherit()).output();
    let output = output.map_err(Error::io("run /bin/sh"))?;
    if output.status.success() || output.status.code() == Some(CANNOT) {
        return Ok(output.status.success());
    }
    let command = format!("apt-get install {}", packages.join(" "));
    Err(Error::Install { command, output: tail(&String::from_utf8_lossy(&output.stdout)) })
}

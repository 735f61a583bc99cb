//! The places of Debian's packages, and the installation of these packages with `apt-get`.

use std::env;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

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

/// The lock file, in a directory where only root may write, because only root installs.
const LOCK: &str = "/run/zklock-testkit.lock";

const APT_GET: &str = "/usr/bin/apt-get";

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
        Err(error) if !lacking(&error).is_empty() && can_install() => install(find),
        found => found,
    }
}

fn can_install() -> bool {
    let root = fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0);
    root && Path::new(APT_GET).is_file()
}

/// Installs the missing packages, unless another process has installed them before this one gets the lock.
fn install<T>(find: impl Fn() -> Result<T, Error>) -> Result<T, Error> {
    // apt waits for dpkg's lock, but not for those of its package lists and downloads.
    let lock = File::create(LOCK).map_err(Error::io("create the lock file for the installation"))?;
    lock.lock().map_err(Error::io("lock the installation"))?;
    match find() {
        Err(error) if !lacking(&error).is_empty() => install_packages(&lacking(&error))?,
        found => return found,
    }
    find()
}

/// Returns the packages whose absence caused the error, or none if installing packages would not help.
fn lacking(error: &Error) -> Vec<&'static str> {
    let Error::Missing { packages, .. } = error else { return Vec::new() };
    let no_java = matches!(find_java(|variable| env::var_os(variable)), Err(Error::Missing { .. }));
    packages.iter().copied().filter(|package| no_java || *package != JAVA[0]).collect()
}

fn install_packages(packages: &[&str]) -> Result<(), Error> {
    eprintln!("zklock-testkit: installing {} with apt-get, to run tests", packages.join(" and "));
    if packages.contains(&POSTGRESQL[0]) {
        create_no_cluster()?;
    }
    if packages.contains(&PROMETHEUS[0]) {
        start_nothing("prometheus.service")?;
    }
    if packages.contains(&KERBEROS[0]) {
        start_nothing("krb5-kdc.service")?;
        start_nothing("krb5-admin-server.service")?;
    }
    // Old package lists may suffice, so only the installation itself must succeed.
    let update = apt_get(&["update"])?;
    let install = apt_get(&[&["install", "-y", "--no-install-recommends"], packages].concat())?;
    if install.status.success() {
        return Ok(());
    }
    let command = format!("apt-get install {}", packages.join(" "));
    Err(Error::Install { command, output: tail(&(text(&update) + &text(&install))) })
}

/// Keeps the package of PostgreSQL from creating and starting a server of its own, unless the machine has its settings
/// already.
fn create_no_cluster() -> Result<(), Error> {
    let write = |path: &Path| File::create_new(path)?.write_all(b"create_main_cluster = false\n");
    unless_it_exists(Path::new(CLUSTER_SETTINGS), write)
        .map_err(Error::io("write the settings of PostgreSQL's clusters"))
}

/// Keeps a package from starting a server by this unit, unless the machine has settings for it already.
fn start_nothing(unit: &str) -> Result<(), Error> {
    unless_it_exists(&Path::new(UNITS).join(unit), |path| symlink("/dev/null", path))
        .map_err(Error::io("mask a unit of systemd"))
}

/// Creates a file and its directory, unless the file exists.
fn unless_it_exists(path: &Path, create: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<()> {
    fs::create_dir_all(path.parent().expect("the path has a directory"))?;
    match create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        created => created,
    }
}

/// The settings by which Debian's package decides whether to create a server.
const CLUSTER_SETTINGS: &str = "/etc/postgresql-common/createcluster.conf";

/// The directory of the units that start servers. A link to `/dev/null` in the place of one starts nothing.
const UNITS: &str = "/etc/systemd/system";

fn apt_get(arguments: &[&str]) -> Result<Output, Error> {
    Command::new(APT_GET)
        .args(["-q", "-o", "DPkg::Lock::Timeout=300", "-o", "Dpkg::Options::=--force-confold"])
        .args(arguments)
        .env("DEBIAN_FRONTEND", "noninteractive")
        // Settings that exist are kept.
        .env("UCF_FORCE_CONFFOLD", "1")
        .stdin(Stdio::null())
        .output()
        .map_err(Error::io("run apt-get"))
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&[output.stdout.as_slice(), &output.stderr].concat()).into_owned()
}

//! Debian's packages: where their jars are, and how they get there.

use std::env;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use super::{Installation, find_java};
use crate::Error;
use crate::error::tail;

/// The `zookeeper` package would add only scripts for a system service, and a graphical Java runtime.
pub(crate) const SERVER_PACKAGE: &str = "libzookeeper-java";

/// The server's package does not depend on any Java runtime.
pub(crate) const JAVA_PACKAGE: &str = "default-jdk-headless";

const SERVER_JAR: &str = "/usr/share/java/zookeeper.jar";

/// The server's jar names its dependencies itself, except a logger.
const LOGGER_JAR: &str = "/usr/share/java/slf4j-simple.jar";

/// It lies where only root may write, because only root installs.
const LOCK: &str = "/run/zklock-testkit.lock";

const APT_GET: &str = "/usr/bin/apt-get";

pub(super) fn classpath() -> Option<Vec<PathBuf>> {
    Path::new(SERVER_JAR).is_file().then(|| vec![SERVER_JAR.into(), LOGGER_JAR.into()])
}

pub(super) fn can_install() -> bool {
    let root = fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0);
    root && Path::new(APT_GET).is_file()
}

/// Installs what is missing, unless another process has done so when it is this one's turn.
pub(super) fn install() -> Result<Installation, Error> {
    // apt waits for dpkg's lock, but not for those of its package lists and downloads.
    let lock = File::create(LOCK).map_err(Error::io("create the lock file for the installation"))?;
    lock.lock().map_err(Error::io("lock the installation"))?;
    match Installation::find() {
        Err(Error::NoZooKeeper) if lacks_java() => install_packages(&[SERVER_PACKAGE, JAVA_PACKAGE])?,
        Err(Error::NoZooKeeper) => install_packages(&[SERVER_PACKAGE])?,
        Err(Error::NoJava) => install_packages(&[JAVA_PACKAGE])?,
        found => return found,
    }
    Installation::find()
}

fn lacks_java() -> bool {
    matches!(find_java(|variable| env::var_os(variable)), Err(Error::NoJava))
}

fn install_packages(packages: &[&str]) -> Result<(), Error> {
    eprintln!("zklock-testkit: installing {} with apt-get, to run ZooKeeper", packages.join(" and "));
    // Old package lists may do, so only the installation itself must succeed.
    let update = apt_get(&["update"])?;
    let install = apt_get(&[&["install", "-y", "--no-install-recommends"], packages].concat())?;
    if install.status.success() {
        return Ok(());
    }
    let command = format!("apt-get install {}", packages.join(" "));
    Err(Error::Install { command, output: tail(&(text(&update) + &text(&install))) })
}

fn apt_get(arguments: &[&str]) -> Result<Output, Error> {
    Command::new(APT_GET)
        .args(["-q", "-o", "DPkg::Lock::Timeout=300"])
        .args(arguments)
        .env("DEBIAN_FRONTEND", "noninteractive")
        .stdin(Stdio::null())
        .output()
        .map_err(Error::io("run apt-get"))
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&[output.stdout.as_slice(), &output.stderr].concat()).into_owned()
}

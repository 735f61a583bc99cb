//! The packages that a build with all features needs, and their installation.
//!
//! The feature `sasl-gssapi` links the Kerberos library, and makes its bindings with libclang when it is built.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::process::{Command, Stdio};

use crate::step::{Outcome, announce};

/// Debian's packages, which have other names elsewhere.
const PACKAGES: [&str; 3] = ["libkrb5-dev", "libclang-dev", "pkg-config"];

/// Installs the packages with `apt-get` if one is missing, on Debian as root. Elsewhere, a build without them fails by
/// itself.
pub(crate) fn prepare() -> Outcome {
    let is_root = fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0);
    if !is_root
        || !succeeds("dpkg-query", &["--version"])
        || succeeds("dpkg-query", &[&["-W"][..], &PACKAGES].concat())
    {
        return Ok(());
    }
    let packages = PACKAGES.join(" ");
    announce(&format!("installing {packages}"));
    // Old package lists may suffice, so only the installation itself must succeed.
    apt_get(&["update"])?;
    match apt_get(&[&["install", "-y", "--no-install-recommends"][..], &PACKAGES].concat())? {
        true => Ok(()),
        false => Err(format!("`apt-get install {packages}` failed; install the packages by hand").into()),
    }
}

fn succeeds(program: &str, arguments: &[&str]) -> bool {
    let mut command = Command::new(program);
    let command = command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

fn apt_get(arguments: &[&str]) -> Outcome<bool> {
    let status = Command::new("apt-get")
        .args(["-q", "-o", "DPkg::Lock::Timeout=300", "-o", "Dpkg::Options::=--force-confold"])
        .args(arguments)
        .env("DEBIAN_FRONTEND", "noninteractive")
        .stdin(Stdio::null())
        .status()?;
    Ok(status.success())
}

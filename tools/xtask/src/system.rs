//! The packages that a build with all features needs, and their installation. Uses only `step`.
//!
//! The feature `sasl-gssapi` links the Kerberos library, and makes its bindings with libclang when it is built.

use std::env;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::step::{Outcome, announce};

/// Debian's packages, which have other names elsewhere.
const PACKAGES: [&str; 3] = ["libkrb5-dev", "libclang-dev", "pkg-config"];
const APT_GET: &str = "/usr/bin/apt-get";

/// Installs the packages if something is missing, and this process can install them.
pub(crate) fn prepare() -> Outcome {
    let missing = missing();
    if missing.is_empty() {
        return Ok(());
    }
    let packages = PACKAGES.join(" ");
    let (missing, command) = (missing.join(" and "), format!("apt-get install {packages}"));
    if !can_install() {
        return Err(format!(
            "{missing} not found, which the feature `sasl-gssapi` needs: install Debian's packages {packages}, or those \
             of another system, such as krb5-devel and clang-devel; if they are elsewhere, set PKG_CONFIG_PATH and \
             LIBCLANG_PATH"
        )
        .into());
    }
    announce(&format!("installing {packages}, because {missing} not found"));
    // Old package lists may suffice, so only the installation itself must succeed.
    apt_get(&["update"])?;
    if !apt_get(&[&["install", "-y", "--no-install-recommends"][..], &PACKAGES].concat())? {
        return Err(format!("`{command}` failed; install the packages by hand").into());
    }
    match self::missing().as_slice() {
        [] => Ok(()),
        missing => Err(format!("{} not found, although `{command}` succeeded", missing.join(" and ")).into()),
    }
}

/// Returns the names of what is missing.
fn missing() -> Vec<&'static str> {
    let headers = (!has_kerberos()).then_some("the headers of Kerberos were");
    let libclang = (!(has_libclang() && has_clang_headers())).then_some("libclang was");
    [headers, libclang].into_iter().flatten().collect()
}

/// This is the first of the ways in which the build searches for the headers.
fn has_kerberos() -> bool {
    let search = |name| {
        let mut command = Command::new(env::var_os("PKG_CONFIG").unwrap_or_else(|| "pkg-config".into()));
        let status = command.args(["--exists", name]).stdin(Stdio::null()).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    };
    let is_named = ["LIBGSSAPI_IMPL", "LIBGSSAPI_PREFIX"].iter().any(|name| env::var_os(name).is_some());
    is_named || ["mit-krb5-gssapi", "heimdal-gssapi"].into_iter().any(search)
}

fn has_libclang() -> bool {
    let is_libclang = |path: &Path| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        // The library with this suffix is another one.
        let is_named = name.starts_with("libclang.so") || name.starts_with("libclang-");
        is_named && name.contains(".so") && !name.contains("-cpp.")
    };
    let inside = |directory: PathBuf| entries(&directory);
    let named = env::var_os("LIBCLANG_PATH").map(PathBuf::from);
    let versions = entries(Path::new("/usr/lib")).into_iter().map(|path| {
        let is_llvm = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("llvm"));
        if is_llvm { path.join("lib") } else { path }
    });
    let places = ["/usr/lib", "/usr/lib64", "/usr/local/lib"].map(PathBuf::from);
    let places = named.clone().into_iter().chain(places).chain(versions);
    named.is_some_and(|path| path.is_file()) || places.flat_map(inside).any(|path| is_libclang(&path))
}

/// Clang's own headers are in another package than the library.
fn has_clang_headers() -> bool {
    let has_version = |directory: PathBuf| {
        entries(&directory).iter().any(|version| version.join("include/stddef.h").is_file())
    };
    let llvm = entries(Path::new("/usr/lib")).into_iter().map(|path| path.join("lib/clang"));
    let mut places = llvm.chain(["/usr/lib/clang", "/usr/lib64/clang"].map(PathBuf::from));
    env::var_os("LIBCLANG_PATH").is_some() || places.any(has_version)
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

fn can_install() -> bool {
    let root = fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0);
    root && Path::new(APT_GET).is_file()
}

fn apt_get(arguments: &[&str]) -> Outcome<bool> {
    let status = Command::new(APT_GET)
        .args(["-q", "-o", "DPkg::Lock::Timeout=300", "-o", "Dpkg::Options::=--force-confold"])
        .args(arguments)
        .env("DEBIAN_FRONTEND", "noninteractive")
        .stdin(Stdio::null())
        .status()?;
    Ok(status.success())
}

//! The clocks of processes.

use std::path::Path;
use std::process::{Command, Stdio};

/// The clock of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clock {
    True,
    /// The rate in thousandths of the true one.
    Skewed(u32),
}

impl Clock {
    /// Gives a process of this program its clock.
    pub(super) fn set(self, command: &mut Command) {
        if let Self::Skewed(rate) = self {
            command
                .args(["--rate", &rate.to_string()])
                .env("LD_PRELOAD", LIBRARY)
                .env("FAKETIME", format!("+0 x{}.{:03}", rate / 1_000, rate % 1_000));
        }
    }

    /// Returns whether processes can have skewed clocks. As root on Debian, it installs the library that this needs.
    pub(crate) fn can_be_skewed() -> bool {
        if !Path::new(LIBRARY).is_file() && rustix::process::geteuid().is_root() {
            let mut install = Command::new("apt-get");
            install.args(["-q", "-o", "DPkg::Lock::Timeout=300", "install", "-y", "--no-install-recommends"]);
            install.arg("libfaketime").env("DEBIAN_FRONTEND", "noninteractive").stdin(Stdio::null());
            // Without the library, the run leaves this fault out.
            let _ = install.stdout(Stdio::null()).stderr(Stdio::null()).status();
        }
        Path::new(LIBRARY).is_file()
    }
}

/// The place of Debian's libfaketime for programs with threads.
const LIBRARY: &str = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1";

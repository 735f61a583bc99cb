//! The signals that processes catch and ignore.

use std::sync::{Arc, Once};

use nix::sys::signal::Signal;
use nix::unistd::Pid;

/// Returns whether a process catches a signal.
pub(crate) fn catches(process: Pid, signal: Signal) -> bool {
    has(process, "SigCgt:", signal)
}

/// Returns whether a process ignores a signal.
pub(crate) fn ignores(process: Pid, signal: Signal) -> bool {
    has(process, "SigIgn:", signal)
}

/// Tells whether a mask in the status of a process has a signal.
fn has(process: Pid, mask: &str, signal: Signal) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix(mask));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default();
    mask & (1 << (signal as u32 - 1)) != 0
}

/// Catches a signal from now on, and does nothing.
pub(crate) fn catch(caught: Signal) {
    signal_hook::flag::register(caught as i32, Arc::default()).expect("it can be caught");
}

/// Catches the signals that this process ignores, as under nohup(1) or in the background of a script. Commands that
/// it starts would ignore them too, and a caught signal has its default effect there.
pub(crate) fn restore_defaults() {
    static RESTORED: Once = Once::new();
    RESTORED.call_once(|| {
        let signals = [Signal::SIGHUP, Signal::SIGINT, Signal::SIGQUIT];
        signals.into_iter().filter(|signal| ignores(Pid::this(), *signal)).for_each(catch);
    });
}

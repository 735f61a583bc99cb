//! The process of the program, and its group. The children of others, which the kernel gives to this process if it is the
//! first one of a container: an orphan that has ended stays a zombie until its new parent reaps it.

use std::convert::Infallible;
use std::fs;
use std::future::pending;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child as Process, Command, ExitStatus};

use nix::errno::Errno;
use nix::sys::signal::{SigSet, SigmaskHow, Signal, kill, killpg};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid, waitpid};
use nix::unistd::Pid;
use tokio::signal::unix::{self, SignalKind};

/// This program, even if its file has been replaced since.
pub(super) const OWN: &str = "/proc/self/exe";

/// Starts a helper, which has SIGTSTP blocked. A key that stopped it before it has its own program would stop this process,
/// too, which waits until then.
pub(super) fn spawn(helper: &mut Command) -> io::Result<Process> {
    let before = key_that_stops().thread_swap_mask(SigmaskHow::SIG_BLOCK)?;
    let spawned = helper.spawn();
    before.thread_set_mask().ok();
    spawned
}

/// Returns the signal that is blocked in a helper at first.
pub(super) fn key_that_stops() -> SigSet {
    SigSet::from_iter([Signal::SIGTSTP])
}

/// The process of the program, which leads a group of its own.
///
/// The number of the group stays in use until the process is [reaped](Self::reap), so signals reach nobody else. If it
/// is dropped before, the group is killed.
pub(super) struct Child {
    process: Process,
    group: Pid,
    is_reaped: bool,
}

/// The end of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    Exited(i32),
    /// Ended by the signal with this number. Real-time signals have no other name.
    Signaled(i32),
}

/// News of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum News {
    None,
    Stopped(Signal),
    Ended,
}

impl Status {
    /// Returns the exit code that a shell would tell.
    pub(crate) fn code(self) -> u8 {
        match self {
            // The kernel keeps eight bits.
            Self::Exited(code) => code as u8,
            Self::Signaled(signal) => 128 + signal as u8,
        }
    }
}

impl From<Signal> for Status {
    fn from(signal: Signal) -> Self {
        Self::Signaled(signal as i32)
    }
}

impl From<ExitStatus> for Status {
    fn from(status: ExitStatus) -> Self {
        // A process that has ended has one of the two.
        let exited = || Self::Exited(status.code().unwrap_or_default());
        status.signal().map_or_else(exited, Self::Signaled)
    }
}

impl Child {
    pub(super) fn new(process: Process) -> Self {
        let group = Pid::from_raw(process.id() as i32);
        Self { process, group, is_reaped: false }
    }

    pub(super) fn group(&self) -> Pid {
        self.group
    }

    /// Returns the news of the process, each stop once and its end every time.
    pub(super) fn news(&self) -> io::Result<News> {
        match self.wait(WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT) {
            // The last one is a process that was ended by a signal without a name.
            Ok(WaitStatus::Exited(..) | WaitStatus::Signaled(..)) | Err(Errno::EINVAL) => {
                return Ok(News::Ended);
            }
            other => other?,
        };
        self.stop()
    }

    /// Returns the news of a process that had not ended a moment ago.
    fn stop(&self) -> io::Result<News> {
        match self.wait(WaitPidFlag::WSTOPPED) {
            Ok(WaitStatus::Stopped(_, signal)) => Ok(News::Stopped(signal)),
            // The kernel knows no child that could stop any more.
            Err(Errno::ECHILD) => Ok(News::Ended),
            other => other.map(|_| News::None).map_err(io::Error::from),
        }
    }

    fn wait(&self, flags: WaitPidFlag) -> nix::Result<WaitStatus> {
        loop {
            match waitid(Id::Pid(self.group), flags | WaitPidFlag::WNOHANG) {
                Err(Errno::EINTR) => {}
                outcome => return outcome,
            }
        }
    }

    /// Sends a signal to the whole group. It is no failure if all of it has ended.
    pub(super) fn signal_group(&self, signal: Signal) {
        killpg(self.group, signal).ok();
    }

    /// Sends a signal to the program alone.
    pub(super) fn signal(&self, signal: Signal) {
        kill(self.group, signal).ok();
    }

    /// Asks the group to end, and lets it go on if it is stopped.
    pub(super) fn ask_to_end(&self) {
        self.signal_group(Signal::SIGTERM);
        self.signal_group(Signal::SIGCONT);
    }

    /// Lets the kernel forget the process, which must have ended, and returns its status.
    pub(super) fn reap(mut self) -> io::Result<Status> {
        self.is_reaped = true;
        Ok(self.process.wait()?.into())
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if !self.is_reaped {
            self.signal_group(Signal::SIGKILL);
            self.process.wait().ok();
        }
    }
}

/// Reaps the children that have ended. The ends of its own helpers and of the program are not for this function.
pub(super) fn reap(own: &[Pid]) {
    let look = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
    loop {
        match waitid(Id::All, look) {
            Ok(WaitStatus::Exited(child, _) | WaitStatus::Signaled(child, ..)) if !own.contains(&child) => {
                if waitpid(child, Some(WaitPidFlag::WNOHANG)).is_err() {
                    return;
                }
            }
            // The crate has no value for a child that a real-time signal ended.
            Err(Errno::EINVAL) => return children().filter(|child| !own.contains(child)).for_each(reap_one),
            _ => return,
        }
    }
}

/// Reaps a child if it has ended. The kernel has done so even if the crate has no value for its end.
fn reap_one(child: Pid) {
    waitpid(child, Some(WaitPidFlag::WNOHANG)).ok();
}

/// Returns the children of all threads.
fn children() -> impl Iterator<Item = Pid> {
    let threads = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let lists = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    let children = lists.flat_map(|list| list.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
    children.filter_map(|child| child.parse().ok().map(Pid::from_raw))
}

/// Reaps the children that end, for as long as this process has no program.
pub(crate) async fn reap_between_programs() -> Infallible {
    let Ok(mut changes) = unix::signal(SignalKind::child()) else { return pending().await };
    loop {
        reap(&[]);
        changes.recv().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::CommandExt;

    #[test]
    fn a_process_that_ends_between_two_questions_has_ended() {
        let process = Command::new("true").process_group(0).spawn().unwrap();
        let child = Child::new(process);
        waitid(Id::Pid(child.group()), WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT).unwrap();
        assert_eq!(child.stop().unwrap(), News::Ended);
        assert_eq!(child.news().unwrap(), News::Ended);
        assert_eq!(child.reap().unwrap(), Status::Exited(0));
    }

    #[test]
    fn no_key_stops_a_helper_before_it_has_begun() {
        let mut helper = Command::new("grep");
        helper.args(["SigBlk", "/proc/self/status"]).stdout(std::process::Stdio::piped());
        let told = spawn(&mut helper).unwrap().wait_with_output().unwrap();
        let mask = String::from_utf8(told.stdout).unwrap();
        let mask = u64::from_str_radix(mask.trim_start_matches("SigBlk:").trim(), 16).unwrap();
        assert_ne!(mask & (1 << (Signal::SIGTSTP as u32 - 1)), 0, "{mask:x}");
        assert!(!SigSet::thread_get_mask().unwrap().contains(Signal::SIGTSTP));
    }
}

//! The children of others, which the kernel gives to this process if it is the first one of a container.
//!
//! An orphan that has ended stays a zombie until its new parent reaps it.

use std::convert::Infallible;
use std::fs;
use std::future::pending;

use nix::errno::Errno;
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid, waitpid};
use nix::unistd::Pid;
use tokio::signal::unix::{self, SignalKind};

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

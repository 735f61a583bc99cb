//! The foreground of the terminal.
//!
//! The program is in a process group of its own, so that it can be ended with its children. On a terminal, only one
//! group may read and gets the signals of the keys: that of the program while it runs, and that of this process
//! otherwise.
//!
//! The shell that started this process and the other programs in its group have to learn of the signals of the keys, too:
//! they end a script. A [`Listener`] in the group of the program blocks all signals. Those that wait for it in the end are
//! those that the group got as a whole.

use std::fs::{self, File};
use std::io::{self, IsTerminal, stdin, stdout};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child as Process, Command, ExitCode, Stdio};
use std::time::Duration;

use nix::sys::signal::{SigSet, SigmaskHow, Signal, kill, killpg, raise};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd::{Pid, getpgid, getpgrp, getppid, getsid, tcgetpgrp, tcsetpgrp};
use tokio::signal::unix;
use tokio::time::timeout;

use super::child::{Child, OWN, Status, spawn};

/// The place of a program's group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Foreground,
    Background,
}

/// The terminal that controls this process.
#[derive(Debug)]
pub(super) struct Terminal(File);

impl Terminal {
    /// Opens the terminal. Returns `None` if there is none.
    pub(super) fn open() -> Option<Self> {
        File::options().read(true).write(true).open("/dev/tty").ok().map(Self)
    }

    /// Returns the place that a program gets at first.
    ///
    /// In a pipeline, other programs may use the terminal. The program gets it when it wants to read from it.
    pub(super) fn first_place(&self) -> Place {
        let is_alone = stdin().is_terminal() && stdout().is_terminal();
        if is_alone && self.has(getpgrp()) { Place::Foreground } else { Place::Background }
    }

    /// Returns whether this group is in the foreground.
    pub(super) fn has(&self, group: Pid) -> bool {
        tcgetpgrp(&self.0) == Ok(group)
    }

    /// Brings a group to the foreground.
    pub(super) fn give_to(&self, group: Pid) {
        // The kernel stops a group in the background that changes this, unless it blocks the signal.
        let mut blocked = SigSet::empty();
        blocked.add(Signal::SIGTTOU);
        let Ok(before) = blocked.thread_swap_mask(SigmaskHow::SIG_BLOCK) else { return };
        // The terminal may be gone, and nobody is in its foreground then.
        tcsetpgrp(&self.0, group).ok();
        before.thread_set_mask().ok();
    }
}

/// The terminal beside a program, and the place that the program has there.
#[derive(Debug)]
pub(super) struct Stage {
    terminal: Option<Terminal>,
    place: Place,
    listener: Option<Listener>,
}

impl Stage {
    pub(super) fn open() -> Self {
        let terminal = Terminal::open();
        let place = terminal.as_ref().map_or(Place::Background, Terminal::first_place);
        Self { terminal, place, listener: None }
    }

    pub(super) fn place(&self) -> Place {
        self.place
    }

    /// Listens to the keys from now on, if there is a terminal.
    pub(super) fn listen(&mut self, child: &Child) -> io::Result<()> {
        self.listener = self.terminal.iter().map(|_| Listener::start(child.group())).next().transpose()?;
        Ok(())
    }

    pub(super) fn listener(&self) -> Option<Pid> {
        self.listener.as_ref().map(Listener::pid)
    }

    /// Returns the signal of a key that the group of a program got.
    pub(super) async fn heard(self, changes: &mut unix::Signal, program: Status) -> Option<Signal> {
        self.listener?.heard(changes, program).await
    }

    /// Gives the foreground to a program that has its place there, after a shell has resumed this process.
    pub(super) fn resume(&self, child: &Child) {
        if self.place == Place::Foreground {
            self.to_foreground(child);
        }
    }

    /// Reacts to a program that a signal has stopped. The shell that started this process must notice that its job has
    /// stopped.
    pub(super) fn stopped(&mut self, child: &Child, by: Signal) {
        let Some(terminal) = &self.terminal else { return };
        if matches!(by, Signal::SIGTTIN | Signal::SIGTTOU) {
            // It wants to use the terminal, which it did not get at first.
            self.place = Place::Foreground;
            self.to_foreground(child);
            if terminal.has(child.group()) {
                child.signal_group(Signal::SIGCONT);
            } else {
                // It gets the terminal when the shell brings this job to the foreground. The kernel would send this
                // signal to the group: timeout(1) and others ignore it.
                killpg(getpgrp(), by).ok();
            }
        } else if terminal.has(child.group()) {
            // The keys have stopped the program alone.
            if is_job() {
                terminal.give_to(getpgrp());
                killpg(getpgrp(), Signal::SIGSTOP).ok();
            } else {
                child.signal_group(Signal::SIGCONT);
            }
        } else if by == Signal::SIGTSTP {
            // The keys have stopped the other programs of a pipeline, and this process has passed the signal on.
            if is_job() {
                raise(Signal::SIGSTOP).ok();
            } else {
                child.signal_group(Signal::SIGCONT);
            }
        }
    }

    /// Takes the foreground back from a program that has ended.
    pub(super) fn take_back(&self, child: &Child) {
        let taken = self.terminal.iter().filter(|terminal| terminal.has(child.group()));
        taken.for_each(|terminal| terminal.give_to(getpgrp()));
    }

    fn to_foreground(&self, child: &Child) {
        let owned = self.terminal.iter().filter(|terminal| terminal.has(getpgrp()));
        owned.for_each(|terminal| terminal.give_to(child.group()));
    }
}

/// Tells whether a SIGTSTP suspends this process and its program.
///
/// On a terminal without a shell that can resume them, neither of them must stop. The program may be in vfork(2): then
/// its child stops, the program waits for it, and this process does not learn of the stop.
pub(super) fn may_suspend() -> bool {
    Terminal::open().is_none() || is_job()
}

/// Tells whether there is a shell that can resume this process: an ancestor in the same session, but in another group.
/// Where there is none, the kernel lets the keys of a terminal stop none of the processes in its group.
fn is_job() -> bool {
    let (group, session) = (getpgrp(), getsid(None));
    let mut ancestor = Some(getppid());
    while let Some(process) = ancestor.filter(|process| process.as_raw() > 0) {
        if getsid(Some(process)) != session {
            return false;
        }
        if getpgid(Some(process)) != Ok(group) {
            return true;
        }
        ancestor = parent(process);
    }
    false
}

fn parent(process: Pid) -> Option<Pid> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name of the program, which may have spaces, is in parentheses.
    stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok().map(Pid::from_raw)
}

/// The argument that makes this program a listener.
pub(super) const LISTENER: &str = "__listener";

/// A process in the group of the program, as its parent sees it. It is killed on drop.
#[derive(Debug)]
struct Listener(Process);

impl Listener {
    fn start(group: Pid) -> io::Result<Self> {
        let mut command = Command::new(OWN);
        let command = command.arg0("zklock").arg(LISTENER).process_group(group.as_raw());
        spawn(command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null())).map(Self)
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(self.0.id() as i32)
    }

    /// Returns the signal of a key that the group of this program got.
    ///
    /// The signal of a process counts if it ended the program. A `zklock` inside of the program passes the signal of a key
    /// on, and is ended by it. timeout(1) sends a signal to its group, and goes on.
    async fn heard(mut self, changes: &mut unix::Signal, program: Status) -> Option<Signal> {
        drop(self.0.stdin.take());
        // Another process may have stopped it.
        kill(self.pid(), Signal::SIGCONT).ok();
        let ended = async {
            loop {
                match self.0.try_wait() {
                    Ok(None) => drop(changes.recv().await),
                    ended => return ended.ok().flatten(),
                }
            }
        };
        let ended = timeout(ANSWER_WITHIN, ended).await.ok()??;
        // A key that came before it blocked the signals has ended it.
        let told = ended.code().or_else(|| ended.signal()).unwrap_or_default();
        KEYS.into_iter().find(|key| {
            let number = *key as i32;
            told == number || told == number + BY_PROCESS && program == Status::from(*key)
        })
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// Listens until the input ends, with the process that started this one or by its wish. Tells the first signal of a key.
pub(super) fn listen() -> ExitCode {
    SigSet::all().thread_block().ok();
    io::copy(&mut stdin(), &mut io::sink()).ok();
    let heard = SignalFd::with_flags(&KEYS.into_iter().collect(), SfdFlags::SFD_NONBLOCK);
    let heard = heard.and_then(|heard| heard.read_signal()).ok().flatten();
    let told =
        heard.map(|signal| signal.ssi_signo as u8 + if signal.ssi_pid == 0 { 0 } else { BY_PROCESS as u8 });
    told.map_or(ExitCode::SUCCESS, ExitCode::from)
}

/// The signals of the keys that end a program.
const KEYS: [Signal; 2] = [Signal::SIGINT, Signal::SIGQUIT];
/// The distance of the code for a signal of a process from that for the same signal of the terminal.
const BY_PROCESS: i32 = 128;
/// The longest wait for the listener, which has nothing to do: long enough for a machine that swaps.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);

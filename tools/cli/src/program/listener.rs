//! The signals of the terminal's keys.
//!
//! The kernel sends them to the group in the foreground, which is that of the program. The shell that started this
//! process and the other programs in its group have to learn of them, too: they end a script. A listener in the group
//! of the program blocks all signals. Those that wait for it in the end are those that the group got as a whole.

use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;

use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd::Pid;
use tokio::signal::unix;
use tokio::time::timeout;

use super::child::{OWN, Status};

/// The argument that makes this program a listener.
pub(super) const NAME: &str = "__listener";

/// A process in the group of the program, as its parent sees it. It is killed on drop.
#[derive(Debug)]
pub(super) struct Listener(Child);

impl Listener {
    pub(super) fn start(group: Pid) -> io::Result<Self> {
        let mut command = Command::new(OWN);
        let command = command.arg0("zklock").arg(NAME).process_group(group.as_raw());
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().map(Self)
    }

    pub(super) fn pid(&self) -> Pid {
        Pid::from_raw(self.0.id() as i32)
    }

    /// Returns the signal of a key that the group of this program got.
    ///
    /// The signal of a process counts if it ended the program. A `zklock` inside of the program passes the signal of a key
    /// on, and is ended by it. timeout(1) sends a signal to its group, and goes on.
    pub(super) async fn heard(mut self, changes: &mut unix::Signal, program: Status) -> Option<Signal> {
        drop(self.0.stdin.take());
        // A key may have stopped it before it blocked the signals.
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
pub(super) fn run() -> ExitCode {
    SigSet::all().thread_block().ok();
    io::copy(&mut io::stdin(), &mut io::sink()).ok();
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

//! The command line.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use crate::connection::Connection;

/// Distributed locks on Apache ZooKeeper
///
/// Each lock is one at a path, and excludes all other holders of that path: other processes of this program, services
/// that use the library zklock, and Java programs that use Apache Curator.
#[derive(Debug, Parser)]
#[command(name = "zklock", version, propagate_version = true, after_help = CODES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) connection: Connection,

    /// Prints results and messages as JSON, one object per line
    #[arg(long, global = true)]
    pub(crate) json: bool,

    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Runs a program under a lock
    ///
    /// The program has ZKLOCK_PATH and ZKLOCK_TOKEN in its environment. If the servers do not answer, the program ends
    /// before its lock is lost: its process group gets SIGTERM, and SIGKILL after the time of --grace. This holds if
    /// zklock itself is killed or stopped, too. With --on-lost continue, it runs on.
    #[command(after_help = CODES)]
    Exec(Exec),

    /// Runs a program while this process leads, again after each election
    ///
    /// If the program ends by itself, zklock leaves the election and returns the exit code of the program.
    #[command(after_help = CODES)]
    Lead(Lead),

    /// Lists the locks at a path and below it, those of other libraries included
    Ls(Ls),

    /// Lists the holders and the waiters of a lock
    Who(Who),

    /// Prints the changes of the locks at a path and below it, until it is interrupted
    Watch(Watch),

    /// Shows the busiest locks and the longest waiters on the whole screen; q ends it
    Top(Watch),

    /// Asks the holders of a lock to release it
    ///
    /// A holder decides whether it releases. On the servers it is the request of Curator's Revoker.
    Revoke(Force),

    /// Takes a lock away from its holders, who may still work
    ///
    /// The next participant has the lock at once, and the holder is told afterwards. Only the token tells the two
    /// apart at the resource.
    Break(Force),

    /// Takes the leadership away from a leader, who enters the election again as the last candidate
    Resign(Force),

    /// Looks at each server: version, timeouts, round trips, permissions, and what to change
    ///
    /// Exits with 0 if nothing is to be changed, with 69 if a server cannot be reached, and with 78 if a setting or a
    /// permission does not fit, or writes are slow.
    Doctor,

    /// Runs a server for development, which keeps nothing
    Serve(Serve),

    /// Prints the completions for a shell
    Completions { shell: Shell },

    /// Prints the manual page
    Man {
        /// Writes the pages of all commands into this directory instead
        #[arg(long, value_name = "DIRECTORY")]
        directory: Option<PathBuf>,
    },
}

/// The options of `exec`.
#[derive(Args, Debug)]
pub(crate) struct Exec {
    /// The path of the lock, below the namespace
    pub(crate) path: String,

    /// The longest wait for the lock; without it, there is no bound
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration, conflicts_with = "no_wait")]
    pub(crate) wait: Option<Duration>,

    /// Fails at once if others hold the lock or wait for it
    #[arg(long)]
    pub(crate) no_wait: bool,

    /// The side of a read-write lock; without it, the lock is a mutex
    #[arg(long, value_enum, conflicts_with = "permits")]
    pub(crate) mode: Option<Side>,

    /// The number of permits to take from a semaphore
    #[arg(long, value_name = "N", requires = "of", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) permits: Option<u32>,

    /// The number of permits that the semaphore has
    #[arg(long, value_name = "M", requires = "permits", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) of: Option<u32>,

    /// Runs the program at most once in this time, whoever holds the lock; exits with 0 if it does not run
    #[arg(long, value_name = "DURATION", value_parser = period)]
    pub(crate) once_per: Option<Duration>,

    /// The path of the node that remembers the last run [default: one below /zklock-ticks/exec]
    #[arg(long, value_name = "PATH", requires = "once_per")]
    pub(crate) tick: Option<String>,

    /// The reaction to the loss of the lock
    #[arg(long, value_enum, default_value_t = OnLost::Term)]
    pub(crate) on_lost: OnLost,

    #[command(flatten)]
    pub(crate) running: Running,
}

/// The options of `lead`.
#[derive(Args, Debug)]
pub(crate) struct Lead {
    /// The path of the election, below the namespace
    pub(crate) path: String,

    /// The reaction to the loss of leadership
    #[arg(long, value_enum, default_value_t = OnDeposed::Term)]
    pub(crate) on_lost: OnDeposed,

    #[command(flatten)]
    pub(crate) running: Running,
}

/// The options of `serve`.
#[derive(Args, Debug)]
pub(crate) struct Serve {
    /// Where the server keeps its data: nowhere, so that it is gone with the server
    #[arg(long, value_enum, default_value_t = Keeps::None)]
    pub(crate) data: Keeps,

    /// The loopback address to listen on; port 0 is a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:2181")]
    pub(crate) listen: SocketAddr,

    /// The tick of the server, 1 ms to 1 h; a session timeout is 2 to 20 ticks
    #[arg(long, value_name = "DURATION", value_parser = tick, default_value = "2s")]
    pub(crate) server_tick: Duration,
}

/// The bounds of a look at many nodes.
#[derive(Args, Debug)]
pub(crate) struct Bounds {
    /// How many nodes are looked at
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pub(crate) nodes: u32,

    /// How many levels below the path are looked at
    #[arg(long, value_name = "N", default_value_t = 16)]
    pub(crate) depth: u32,
}

/// The options of `ls`.
#[derive(Args, Debug)]
pub(crate) struct Ls {
    /// The path, below the namespace
    #[arg(default_value = "/")]
    pub(crate) path: String,

    #[command(flatten)]
    pub(crate) bounds: Bounds,
}

/// The options of `who`.
#[derive(Args, Debug)]
pub(crate) struct Who {
    /// The path of the lock, below the namespace
    pub(crate) path: String,

    /// How many participants are listed
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    pub(crate) most: u32,
}

/// The options of `watch` and `top`.
#[derive(Args, Debug)]
pub(crate) struct Watch {
    /// The path, below the namespace
    #[arg(default_value = "/")]
    pub(crate) path: String,

    /// The time between two looks, at least 10 ms; as long as the last look took, if that is longer
    #[arg(long, value_name = "DURATION", value_parser = interval, default_value = "1s")]
    pub(crate) interval: Duration,

    /// How many participants of each lock are looked at, from the front of its queue
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(crate) most: u32,

    #[command(flatten)]
    pub(crate) bounds: Bounds,
}

/// The options of `revoke`, `break` and `resign`.
#[derive(Args, Debug)]
pub(crate) struct Force {
    /// The path of the lock, below the namespace
    pub(crate) path: String,

    /// The node of the participant, instead of all holders
    #[arg(long, value_name = "NAME")]
    pub(crate) node: Option<String>,

    /// Asks no question
    #[arg(long)]
    pub(crate) yes: bool,
}

/// A program.
#[derive(Args, Debug)]
pub(crate) struct Running {
    /// The time between SIGTERM and SIGKILL; at most a third of the time for which a lock is safe without an answer
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration, default_value = "5s")]
    pub(crate) grace: Duration,

    /// The program and its arguments, behind `--`
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) program: Vec<OsString>,
}

/// The exit codes, for the help of a command.
const CODES: &str = "\
Exit codes:
  0..   those of the program that ran; 128 and the number of the signal that ended it. SIGINT, SIGTERM, SIGHUP and
        SIGQUIT end zklock, too; shells then show this code
  64    the command line is wrong, or a question was answered with no
  69    no server answers
  70    the servers refuse a request, a system call fails, or there is nothing to take away; with --once-per, it is not
        known whether the period has begun
  74    the result cannot be written
  75    others hold the lock
  77    access is denied
  78    a setting is wrong
  79    the lock was lost before the program began, or while it ran
  126   the program cannot be run
  127   the program was not found";

/// A side of a read-write lock.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Side {
    /// Held together with other readers
    Read,
    /// Held alone
    Write,
}

/// The reaction of a program's process group to the loss of its lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnLost {
    /// SIGTERM, and SIGKILL before another can hold the lock
    Term,
    /// SIGKILL, before another can hold the lock
    Kill,
    /// None: the program runs to its end, while another may hold the lock
    Continue,
}

/// The reaction of a program's process group to the loss of leadership. It always ends: the program must not run twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnDeposed {
    /// SIGTERM, and SIGKILL before another can lead
    Term,
    /// SIGKILL, before another can lead
    Kill,
}

impl From<OnDeposed> for OnLost {
    fn from(on_deposed: OnDeposed) -> Self {
        match on_deposed {
            OnDeposed::Term => Self::Term,
            OnDeposed::Kill => Self::Kill,
        }
    }
}

/// The place where a server for development keeps its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Keeps {
    /// Nowhere
    None,
}

fn interval(text: &str) -> Result<Duration, String> {
    between(text, Duration::from_millis(10), Duration::MAX)
}

fn tick(text: &str) -> Result<Duration, String> {
    between(text, Duration::from_millis(1), Duration::from_secs(3_600))
}

fn period(text: &str) -> Result<Duration, String> {
    between(text, Duration::from_millis(1), Duration::MAX)
}

/// Reads a duration within these bounds.
fn between(text: &str, least: Duration, most: Duration) -> Result<Duration, String> {
    let duration = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    match duration {
        short if short < least => Err(format!("it must be at least {}", humantime::format_duration(least))),
        long if long > most => Err(format!("it must be at most {}", humantime::format_duration(most))),
        fits => Ok(fits),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::Code;

    #[test]
    fn the_help_has_every_exit_code() {
        use Code as C;
        let codes =
            [C::Usage, C::Unavailable, C::Failed, C::Output, C::Contended, C::Denied, C::Config, C::Lost];
        for code in codes.into_iter().chain([C::CannotRun, C::NotFound]) {
            assert!(CODES.contains(&format!("\n  {:<3}   ", code.number())), "{code:?}");
        }
    }

    #[test]
    fn permits_and_their_number_come_together_and_not_with_a_side() {
        let parses = |options: &str| {
            let line = format!("zklock exec /a {options} -- true");
            Arguments::try_parse_from(line.split_whitespace()).is_ok()
        };
        assert!(parses("") && parses("--permits 2 --of 3") && parses("--mode read --wait 5s"));
        let wrong = ["--permits 2", "--of 2", "--permits 0 --of 1", "--mode read --permits 1 --of 2"];
        for options in wrong.into_iter().chain(["--wait 5s --no-wait", "--wait 5", "--tick /t"]) {
            assert!(!parses(options), "{options}");
        }
        for period in ["0s", "100us", "1"] {
            assert!(!parses(&format!("--once-per {period}")), "{period}");
        }
    }
}

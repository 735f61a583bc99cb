//! The exit codes, and the failures that lead to them.

use std::fmt;
use std::process::ExitCode;

use serde::Serialize;
use zklock::LockError;

/// An exit code of this program's own.
///
/// The codes are those of `sysexits.h`, as with flock(1), so that they are not those that programs usually return. A
/// lost lock has the first code behind them. Programs that cannot be run have the codes of a shell and of env(1), and
/// those that a signal ended the codes of a shell, 128 and the number of the signal, unless it ends this process, too.
///
/// In JSON, they have these names in snake_case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Code {
    /// `EX_USAGE`: the command line is wrong, or an argument cannot be what it says.
    Usage = 64,
    /// `EX_UNAVAILABLE`: no server answers.
    Unavailable = 69,
    /// `EX_SOFTWARE`: the servers refuse a request, or a system call fails.
    Failed = 70,
    /// `EX_IOERR`: the result cannot be written.
    Output = 74,
    /// `EX_TEMPFAIL`: others hold the lock.
    Contended = 75,
    /// `EX_NOPERM`: the servers refuse the credentials, or an ACL denies access.
    Denied = 77,
    /// `EX_CONFIG`: a setting is wrong.
    Config = 78,
    /// The lock or the leadership was lost before the program began, or while it ran.
    Lost = 79,
    /// The program was found, and cannot be run.
    CannotRun = 126,
    /// The program was not found.
    NotFound = 127,
}

impl Code {
    pub(crate) fn number(self) -> u8 {
        self as u8
    }

    fn of(error: &LockError) -> Self {
        use LockError as E;
        match error {
            _ if error.is_contended() => Self::Contended,
            E::Connect { .. } | E::Timeout { .. } | E::OutcomeUnknown { .. } | E::Closed { .. } => {
                Self::Unavailable
            }
            E::Lost { .. } | E::NotLeader { .. } => Self::Lost,
            E::Denied { .. } | E::AuthFailed { .. } | E::Tls { .. } => Self::Denied,
            E::InvalidConfig { .. } => Self::Config,
            _ if error.is_invalid() => Self::Usage,
            _ => Self::Failed,
        }
    }
}

impl From<Code> for ExitCode {
    fn from(code: Code) -> Self {
        code.number().into()
    }
}

/// The reason why a command has no result.
#[derive(Debug)]
pub(crate) struct Failure {
    code: Code,
    message: String,
}

impl Failure {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// The failure of a system call.
    pub(crate) fn system(doing: &str) -> impl Fn(std::io::Error) -> Self {
        move |error| Self::new(Code::Failed, format!("cannot {doing}: {error}"))
    }

    pub(crate) fn code(&self) -> Code {
        self.code
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl From<LockError> for Failure {
    fn from(error: LockError) -> Self {
        Self::new(Code::of(&error), error.to_string())
    }
}

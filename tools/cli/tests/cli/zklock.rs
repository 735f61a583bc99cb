//! The command as a process.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{PipeReader, PipeWriter, Write, pipe};
use std::mem::forget;
use std::os::fd::AsFd;
use std::process::{Command, Stdio};
use std::time::Duration;

use nix::fcntl::{FcntlArg, fcntl};
use tempfile::tempfile;

use crate::running::{Ended, Running};
use crate::signals::restore_defaults;

/// The command, before it runs.
pub(crate) struct Zklock {
    command: Command,
    /// The output, if it is read while the command runs.
    output: (PipeReader, PipeWriter),
    /// The place of the standard output, if it goes elsewhere.
    out: Option<Stdio>,
    /// The place of the standard error, if it goes elsewhere.
    err: Option<Stdio>,
}

impl Zklock {
    /// Returns the command with these arguments, which are separated by spaces. It sees no variable of the tests, and
    /// no signal that they ignore.
    pub(crate) fn new(arguments: &str) -> Self {
        restore_defaults();
        let mut command = Command::new(Self::path());
        command.args(arguments.split_whitespace()).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.stdin(Stdio::null());
        Self { command, output: pipe().expect("a pipe is made"), out: None, err: None }
    }

    pub(crate) fn path() -> &'static str {
        env!("CARGO_BIN_EXE_zklock")
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Asks for a session with this timeout.
    pub(crate) fn session(self, timeout: Duration) -> Self {
        self.env("ZKLOCK_SESSION_TIMEOUT", format!("{}ms", timeout.as_millis()))
    }

    /// Adds one argument.
    pub(crate) fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.command.arg(argument);
        self
    }

    /// Adds a program for a shell, behind `--`.
    pub(crate) fn shell(self, script: &str) -> Self {
        self.arg("--").arg("sh").arg("-c").arg(script)
    }

    /// Writes the standard output elsewhere.
    pub(crate) fn out_to(self, out: impl Into<Stdio>) -> Self {
        Self { out: Some(out.into()), ..self }
    }

    /// Writes the standard error elsewhere.
    pub(crate) fn err_to(self, err: impl Into<Stdio>) -> Self {
        Self { err: Some(err.into()), ..self }
    }

    /// Writes the standard error to the standard output.
    pub(crate) fn err_to_out(self) -> Self {
        let output = self.output.1.try_clone().expect("the pipe is cloned");
        self.err_to(output)
    }

    /// Runs the command by another one, which takes the command as its last arguments.
    pub(crate) fn through(self, program: &str) -> Self {
        let mut outer = Command::new(program);
        outer.arg(self.command.get_program()).args(self.command.get_args());
        self.inside(outer)
    }

    /// Runs the command by a test of this binary, which finds the arguments in a variable, one per line.
    pub(crate) fn through_test(self, test: &str, variable: &str) -> Self {
        let mut outer = Command::new(std::env::current_exe().expect("this program has a path"));
        outer.args(["--exact", test]);
        let arguments = self.command.get_args().map(|argument| argument.to_str().expect("text"));
        let arguments = arguments.collect::<Vec<_>>().join("\n");
        self.inside(outer).env(variable, arguments)
    }

    /// Returns a shell command on a terminal of its own, which has the command and this script for it as variables.
    pub(crate) fn on_terminal(self, line: &str, script: &str) -> Self {
        let mut outer = Command::new("script");
        outer.args(["--quiet", "--return", "--flush", "--command", line, "/dev/null"]);
        let mut zklock = self.inside(outer).env("ZKLOCK", Self::path()).env("SCRIPT", script);
        zklock.command.stdin(Stdio::piped());
        zklock.env("PS1", "").env("SHELL", "/bin/sh")
    }

    /// Replaces the command by another one, which sees the same variables.
    fn inside(self, mut outer: Command) -> Self {
        let variables = self.command.get_envs().filter_map(|(name, value)| Some((name, value?)));
        outer.env_clear().envs(variables).stdin(Stdio::null());
        Self { command: outer, ..self }
    }

    /// Runs the command to its end.
    pub(crate) fn run(self) -> Ended {
        self.run_with("")
    }

    /// Runs the command to its end, which must have this code.
    #[track_caller]
    pub(crate) fn ends(self, code: i32) -> Ended {
        let command = format!("{:?}", self.command);
        let ended = self.run();
        assert_eq!(ended.code, code, "{command}: {ended:?}");
        ended
    }

    /// Runs the command to its end, with this text as its input.
    pub(crate) fn run_with(mut self, input: &str) -> Ended {
        let (out, err) = (tempfile().expect("a file is made"), tempfile().expect("a file is made"));
        self.command.stdout(self.out.unwrap_or_else(|| shared(&out)));
        self.command.stderr(self.err.unwrap_or_else(|| shared(&err)));
        let mut child = self.command.stdin(Stdio::piped()).spawn().expect("zklock runs");
        // A command that reads nothing may have ended.
        child.stdin.take().expect("it has an input").write_all(input.as_bytes()).ok();
        Ended::of(&mut child, &out, &err)
    }

    /// Starts the command.
    pub(crate) fn start(mut self) -> Running {
        let errors = tempfile().expect("a file is made");
        let (reader, writer) = self.output;
        self.command.stdout(self.out.unwrap_or_else(|| writer.into()));
        self.command.stderr(self.err.unwrap_or_else(|| shared(&errors)));
        let child = self.command.spawn().expect("zklock runs");
        // The command keeps its end of the pipe open until it is dropped.
        Running::new(child, reader, errors)
    }
}

fn shared(file: &File) -> Stdio {
    file.try_clone().expect("the file is cloned").into()
}

/// Returns a full pipe that nobody reads.
pub(crate) fn full_pipe() -> PipeWriter {
    let (reader, mut writer) = pipe().expect("a pipe is made");
    fill(&mut writer);
    forget(reader);
    writer
}

/// Writes as much as an empty pipe takes.
pub(crate) fn fill(pipe: &mut (impl Write + AsFd)) {
    let size = fcntl(&*pipe, FcntlArg::F_GETPIPE_SZ).expect("a pipe has a size");
    pipe.write_all(&vec![0; size as usize]).expect("the pipe takes its size");
}

/// Returns a file on a disk that is full.
pub(crate) fn full_disk() -> File {
    File::options().write(true).open("/dev/full").expect("Linux has /dev/full")
}

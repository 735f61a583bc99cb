//! The command while it runs, and its end. Each wait has a bound, behind which the test fails with all that was written.

use std::fs::File;
use std::io::{self, BufRead, BufReader, PipeReader, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ExitStatus};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use vt100::Parser;

use crate::waiting::SOON;

/// The command while it runs. It is killed on drop.
pub(crate) struct Running {
    child: Child,
    lines: BufReader<Timely>,
    errors: File,
}

/// A pipe whose writer must write soon, or end.
struct Timely {
    pipe: PipeReader,
    seen: Vec<u8>,
}

/// The end of the command.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ended {
    /// Waits for the end of a command that writes into these files.
    pub(crate) fn of(child: &mut Child, out: &File, err: &File) -> Self {
        let deadline = Instant::now() + SOON;
        loop {
            let status = child.try_wait().expect("it is a child");
            let texts = || (text(out), text(err));
            if let Some(status) = status {
                let (out, err) = texts();
                return Self { code: code(status), out, err };
            }
            if Instant::now() >= deadline {
                child.kill().and_then(|()| child.wait()).expect("it is a child");
                let (out, err) = texts();
                panic!("zklock does not end\nits output:\n{out}\nits messages:\n{err}");
            }
            sleep(PAUSE);
        }
    }
}

impl Running {
    pub(crate) fn new(child: Child, output: PipeReader, errors: File) -> Self {
        let lines = BufReader::new(Timely { pipe: output, seen: Vec::new() });
        Self { child, lines, errors }
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id() as i32)
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill(self.pid(), signal).expect("it runs");
    }

    /// Types keys on its terminal.
    pub(crate) fn types(&mut self, keys: &str) {
        self.child.stdin.as_mut().expect("it has a terminal").write_all(keys.as_bytes()).expect("it reads");
    }

    /// Takes the keys of its terminal, for another thread.
    pub(crate) fn keys(&mut self) -> ChildStdin {
        self.child.stdin.take().expect("it has a terminal")
    }

    /// Reads its output until the screen shows what is expected.
    pub(crate) fn until_shown(&mut self, screen: &mut Parser, is_shown: impl Fn(&str) -> bool) {
        let deadline = Instant::now() + SOON;
        while !is_shown(&screen.screen().contents()) {
            let length = match self.lines.fill_buf() {
                Ok(read) => {
                    screen.process(read);
                    read.len()
                }
                Err(_) => 0,
            };
            if length == 0 || Instant::now() >= deadline {
                self.fail(&format!("it shows this screen:\n{}", screen.screen().contents()));
            }
            self.lines.consume(length);
        }
    }

    /// Returns the next line of its output that contains this text.
    #[track_caller]
    pub(crate) fn line_with(&mut self, text: &str) -> String {
        loop {
            let line = self.line();
            if line.contains(text) {
                return line;
            }
        }
    }

    /// Returns the next line of its output, and that of its program.
    #[track_caller]
    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        match self.lines.read_line(&mut line) {
            Ok(_) if line.ends_with('\n') => line.trim_end().to_owned(),
            Ok(_) => self.fail("it ended before it wrote a line"),
            Err(error) => self.fail(&format!("it writes no line: {error}")),
        }
    }

    /// Returns the rest of its output, once everybody who could write to it has ended.
    #[track_caller]
    pub(crate) fn rest(&mut self) -> String {
        let mut rest = String::new();
        match self.lines.read_to_string(&mut rest) {
            Ok(_) => rest,
            Err(error) => self.fail(&format!("its output does not end: {error}")),
        }
    }

    /// Sends a signal, by which it ends.
    pub(crate) async fn ends_by(&mut self, signal: Signal) {
        self.signal(signal);
        assert_eq!(self.code().await, -(signal as i32));
    }

    /// Reads the number of a process from its next line.
    #[track_caller]
    pub(crate) fn process(&mut self) -> i32 {
        self.process_with("")
    }

    /// Reads the number of a process from the end of its next line that contains this text.
    #[track_caller]
    pub(crate) fn process_with(&mut self, text: &str) -> i32 {
        let line = self.line_with(text);
        line.rsplit(' ').next().and_then(|word| word.parse().ok()).expect("a process ends the line")
    }

    /// Waits until it has ended, and returns its code.
    pub(crate) async fn code(&mut self) -> i32 {
        let deadline = Instant::now() + SOON;
        loop {
            if let Some(status) = self.child.try_wait().expect("it is a child") {
                return code(status);
            }
            if Instant::now() >= deadline {
                self.fail("it does not end");
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    #[track_caller]
    fn fail(&self, problem: &str) -> ! {
        let (seen, errors) = (String::from_utf8_lossy(&self.lines.get_ref().seen), text(&self.errors));
        panic!("zklock: {problem}\nits output:\n{seen}\nits messages:\n{errors}");
    }
}

impl Read for Timely {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let soon = PollTimeout::try_from(SOON).expect("the bound is short");
        if poll(&mut [PollFd::new(self.pipe.as_fd(), PollFlags::POLLIN)], soon)? == 0 {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let length = self.pipe.read(buffer)?;
        self.seen.extend(&buffer[..length]);
        Ok(length)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Its watchdog ends with it, and so does its program.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the code of a process, or the number of a signal below zero.
fn code(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| -status.signal().unwrap_or_default())
}

/// Returns the text of a file, whose writers may still have it open.
fn text(file: &File) -> String {
    let length = file.metadata().expect("it is open").len();
    let mut bytes = vec![0; length as usize];
    file.read_exact_at(&mut bytes, 0).expect("it has its length");
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns whether a process exists that has not ended.
pub(crate) fn is_alive(pid: i32) -> bool {
    state(pid).is_some_and(|state| state != 'Z')
}

/// Returns the letter of a process's state, or `None` if there is no such process.
pub(crate) fn state(pid: i32) -> Option<char> {
    stat(pid, 0)?.chars().next()
}

/// Returns the group in the foreground of a process's terminal.
pub(crate) fn foreground(pid: i32) -> Option<i32> {
    stat(pid, 5)?.parse().ok()
}

/// Returns a field of a process's state, as proc(5) numbers them, from the state on.
fn stat(pid: i32, field: usize) -> Option<String> {
    let stat = std::fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("stat")).ok()?;
    // The name of the program, which may have spaces, is in parentheses.
    stat.rsplit_once(") ")?.1.split(' ').nth(field).map(str::to_owned)
}

/// Tells whether a thread of a process waits until somebody reads from the pipe into which it writes.
pub(crate) fn writes_to_full_pipe(pid: Pid) -> bool {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let waits = |task: PathBuf| std::fs::read_to_string(task.join("wchan")).unwrap_or_default();
    tasks.into_iter().any(|task| waits(task.path()).contains("pipe_write"))
}

/// Returns the child of a process whose command line has this word.
pub(crate) fn child_with(parent: Pid, word: &str) -> Option<Pid> {
    let children = format!("/proc/{parent}/task/{parent}/children");
    let children = std::fs::read_to_string(children).ok()?;
    let has_word = |child: &&str| {
        std::fs::read(format!("/proc/{child}/cmdline"))
            .is_ok_and(|line| line.split(|byte| *byte == 0).any(|argument| argument == word.as_bytes()))
    };
    children.split_whitespace().find(has_word)?.parse().ok().map(Pid::from_raw)
}

/// The time between two looks at a process.
const PAUSE: Duration = Duration::from_millis(5);

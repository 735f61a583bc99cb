//! `zklock top` and `watch` in tmux, which gives the text on its screen.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use nix::sys::signal::Signal;
use tempfile::TempDir;
use tokio::task::spawn_blocking;
use zklock_testkit::Tool;

use crate::screen::{COLUMNS, ROWS};
use crate::support::Space;
use crate::waiting::until;
use crate::zklock::Zklock;

/// A tmux of its own, with one window in which the command runs. It ends on drop.
struct Tmux {
    program: PathBuf,
    directory: TempDir,
}

impl Tmux {
    async fn start(space: &Space, arguments: &str) -> Self {
        // The installation may wait for that of other packages.
        let found = spawn_blocking(|| Tool::Tmux.find_or_install()).await.expect("it is searched for");
        let program = found.unwrap_or_else(|error| panic!("{error}"));
        let tmux = Self { program, directory: tempfile::tempdir().expect("a directory is made") };
        let (columns, rows) = (COLUMNS.to_string(), ROWS.to_string());
        // The keys of the terminal do not end the shell.
        let line = format!("trap : INT; '{}' {arguments}; echo code=$?; exec sleep 1000", Zklock::path());
        let session = ["new-session", "-d", "-x", &columns, "-y", &rows, &line];
        let zklock = space.zklock("").env("TERM", "xterm").env("SHELL", "/bin/sh");
        let status = tmux.command(&session).envs(zklock.variables()).status().expect("tmux runs");
        assert!(status.success());
        tmux
    }

    /// Returns a command for this tmux.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(["-f", "/dev/null", "-S"]).arg(self.directory.path().join("socket"));
        command.args(arguments).env_remove("TMUX").stdin(Stdio::null());
        command
    }

    fn screen(&self) -> String {
        let captured = self.command(&["capture-pane", "-p"]).output().expect("tmux runs");
        String::from_utf8(captured.stdout).expect("the screen is a text")
    }

    async fn until_shown(&self, is_shown: impl Fn(&str) -> bool, what: &str) {
        until(async || is_shown(&self.screen()), what).await;
    }

    fn types(&self, key: &str) {
        assert!(self.command(&["send-keys", key]).status().expect("tmux runs").success());
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        // Its programs end with their terminal.
        let _ = self.command(&["kill-server"]).stderr(Stdio::null()).status();
    }
}

#[tokio::test]
async fn the_table_of_locks_is_on_the_screen_of_tmux_and_goes_with_a_key() {
    let space = Space::new();
    let _holder = space.holder("/busy --identity holder");
    let _waits = space.waiter("/busy --identity patient");
    let tmux = Tmux::start(&space, "top --interval 20ms").await;
    let row = |text: &str, word: &str| text.lines().position(|line| line.contains(word));
    let is_shown = |text: &str| {
        let lock = row(text, "/busy").zip(row(text, "holder")).is_some_and(|(path, name)| path == name);
        lock && row(text, "WAITER").zip(row(text, "patient")).is_some_and(|(heading, name)| heading < name)
    };
    tmux.until_shown(is_shown, "the lock and its waiter are shown").await;
    tmux.types("q");
    let is_over = |text: &str| text.contains("code=0") && !text.contains("/busy");
    tmux.until_shown(is_over, "the screen is the shell's again").await;
}

#[tokio::test]
async fn changes_are_on_the_screen_of_tmux_until_a_key_interrupts_them() {
    let space = Space::new();
    let holder = space.holder("/a --identity first");
    let tmux = Tmux::start(&space, "watch --interval 20ms").await;
    tmux.until_shown(|text| text.contains("holds    /a  first"), "the holder is shown").await;
    holder.signal(Signal::SIGTERM);
    tmux.until_shown(|text| text.contains("leaves   /a  first"), "its end is shown").await;
    tmux.types("C-c");
    tmux.until_shown(|text| text.contains("code=130"), "the command has ended").await;
}

//! The program on a terminal: its input, and the keys that interrupt and suspend it.
//!
//! The terminal is that of script(1), and the shell with job control is bash.

use nix::sys::signal::{Signal, kill};

use crate::running::{Running, child_with, foreground, state};
use crate::support::Space;
use crate::waiting::until;

pub(crate) const INTERRUPT: &str = "\u{3}";
pub(crate) const SUSPEND: &str = "\u{1a}";

/// The command, in a shell that has it and the script of its program as variables.
pub(crate) const EXEC: &str = "\"$ZKLOCK\" exec /a -- sh -c \"$SCRIPT\"";
pub(crate) const SHELL: &str = "exec bash --norc --noprofile -i";

/// Types a line into a shell with job control, and returns the shell and the process of the program, which tells it.
fn job(space: &Space, line: &str, script: &str) -> (Running, i32) {
    let mut terminal = space.zklock("").on_terminal(SHELL, script).start();
    terminal.types(&format!("{line}\n"));
    let program = terminal.process_with("ready ");
    (terminal, program)
}

#[tokio::test]
async fn a_program_reads_from_the_terminal_and_gets_its_keys() {
    let space = Space::new();
    let script = "trap 'echo interrupted; exit 3' INT; echo ready; read line; echo \"got $line\"; \
                  while :; do sleep 0.01; done";
    let mut terminal = space.zklock("").on_terminal(&format!("exec {EXEC}"), script).start();
    terminal.line_with("ready");
    terminal.types("a line\n");
    terminal.line_with("got a line");
    terminal.types(INTERRUPT);
    terminal.line_with("interrupted");
    assert_eq!(terminal.code().await, 3);
    assert!(space.children("/a").await.is_empty());
}

#[tokio::test]
async fn a_program_in_a_pipeline_gets_the_terminal_when_it_reads_from_it() {
    let space = Space::new();
    let script = "echo ready >/dev/tty; read line </dev/tty; echo \"got $line\"";
    let line = format!("{EXEC} | sed s/got/passed/");
    let mut terminal = space.zklock("").on_terminal(&line, script).start();
    terminal.line_with("ready");
    terminal.types("a line\n");
    terminal.line_with("passed a line");
    assert_eq!(terminal.code().await, 0);
}

#[tokio::test]
async fn a_suspended_program_and_pipeline_go_on_with_their_lock_when_the_shell_resumes_them() {
    let space = Space::new();
    for (line, code) in [(EXEC, "code=130"), (&format!("{EXEC} | cat"), "code=")] {
        let (mut terminal, program) = job(&space, line, "echo ready $$ >/dev/tty; exec sleep 1000");
        terminal.types(SUSPEND);
        terminal.line_with("Stopped");
        assert_eq!(state(program), Some('T'));
        terminal.types("fg\n");
        until(async || state(program).is_some_and(|state| state != 'T'), "the program goes on").await;
        assert_eq!(space.children("/a").await.len(), 1);
        terminal.types(INTERRUPT);
        space.until_queued("/a", 0).await;
        terminal.types("echo code=$?; exit 0\n");
        terminal.line_with(code);
        assert_eq!(terminal.code().await, 0);
    }
}

#[tokio::test]
async fn a_job_in_the_background_stops_when_its_program_reads_and_goes_on_in_the_foreground() {
    let space = Space::new();
    let script = "echo ready $$; read line </dev/tty; echo \"got $line\"";
    for command in [EXEC.to_owned(), format!("{EXEC} | cat")] {
        let line = format!("{command} & while [ -z \"$(jobs -s)\" ]; do sleep 0.01; done; fg");
        let (mut terminal, program) = job(&space, &line, script);
        until(async || foreground(program) == Some(program), "the program has the terminal").await;
        terminal.types("a line\n");
        terminal.line_with("got a line");
        space.until_queued("/a", 0).await;
        terminal.types("exit 0\n");
        assert_eq!(terminal.code().await, 0);
    }
}

/// timeout(1) sends SIGTERM and SIGCONT, at a time when the command may not know yet that its program has stopped.
#[tokio::test]
async fn a_signal_ends_a_program_in_the_background_that_has_just_stopped_because_it_reads() {
    let space = Space::new();
    let script = "echo ready $$; sleep 0.5; exec cat";
    let (mut terminal, program) = job(&space, &format!("{EXEC} &"), script);
    let command = || child_with(child_with(terminal.pid(), "bash")?, "/a");
    let command = command().expect("the command runs");
    kill(command, Signal::SIGSTOP).unwrap();
    until(async || state(program) == Some('T'), "the program wants the terminal").await;
    kill(command, Signal::SIGTERM).unwrap();
    kill(command, Signal::SIGCONT).unwrap();
    space.until_queued("/a", 0).await;
    terminal.types("exit 0\n");
    assert_eq!(terminal.code().await, 0);
}

#[tokio::test]
async fn messages_from_the_background_do_not_stop_the_command() {
    let space = Space::new();
    let mut terminal = space.zklock("").on_terminal(SHELL, "").start();
    terminal.types("stty tostop; \"$ZKLOCK\" exec /a --json -- true &\n");
    terminal.line_with("\"event\":\"released\"");
    space.until_queued("/a", 0).await;
    terminal.types("exit 0\n");
    assert_eq!(terminal.code().await, 0);
}

#[tokio::test]
async fn a_program_that_no_shell_could_resume_is_not_suspended() {
    let space = Space::new();
    let script = "echo ready; read line; echo \"got $line\"";
    let mut terminal = space.zklock("").on_terminal(&format!("exec {EXEC}"), script).start();
    terminal.line_with("ready");
    terminal.types(SUSPEND);
    terminal.types("a line\n");
    terminal.line_with("got a line");
    assert_eq!(terminal.code().await, 0);
}

#[tokio::test]
async fn a_pipeline_that_no_shell_could_resume_is_not_suspended() {
    let (space, directory) = (Space::new(), tempfile::tempdir().unwrap());
    let end = directory.path().join("end");
    let script = "echo ready >/dev/tty; until [ -e \"$END\" ]; do sleep 0.01; done; echo ended";
    let line = format!("exec {EXEC} | cat");
    let mut terminal = space.zklock("").env("END", &end).on_terminal(&line, script).start();
    terminal.line_with("ready");
    terminal.types(SUSPEND);
    // The terminal shows the key when it has sent the signal.
    terminal.types("\n");
    terminal.line_with("^Z");
    std::fs::write(&end, "").unwrap();
    terminal.line_with("ended");
    assert_eq!(terminal.code().await, 0);
}

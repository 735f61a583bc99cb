//! The command in the scripts of shells, on a terminal: its keys, and timeout(1). It has the same effects there as
//! flock(1), and as env(1), which is the program itself.

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::keys::INTERRUPT;
use crate::running::Running;
use crate::support::Space;
use crate::waiting::until;

const QUIT: &str = "\u{1c}";
const FLOCK: &str = "flock \"$LOCK\"";
const ENV: &str = "env";
const ZKLOCK: &str = "\"$ZKLOCK\" exec /a --";
const NESTED: &str = "\"$ZKLOCK\" exec /a -- \"$ZKLOCK\" exec /b --";

/// The programs of the scripts.
const SLEEPS: &str = "echo ready $$ >/dev/tty; exec sleep 1000";
/// Its line is on the terminal only once the next command of its pipe reads.
const WRITES: &str = "echo ready $$; exec sleep 1000";
const READS: &str = "echo ready $$ >/dev/tty; exec cat >/dev/null";
const CATCHES: &str = "trap 'exit $CODE' INT; echo ready $$ >/dev/tty; while :; do sleep 0.01; done";

/// The first line of a script, in which `RUN` is the command with its options, and `PROGRAM` runs under it.
const LIST: &str = "RUN PROGRAM; echo next $?$MARK";
const LOOP: &str = "for i in 1 2 3; do RUN PROGRAM; echo next $?$MARK; done; echo end $?$MARK";
const TO_FILE: &str = "RUN PROGRAM >\"$FILE\"; echo next $?$MARK";
const IN_PIPE: &str = "RUN PROGRAM | cat; echo next $?$MARK";
const TIMEOUT: &str = "timeout 0.5 RUN cat; echo next $?$MARK";
const TIMEOUT_INSIDE: &str = "RUN timeout -s INT 0.5 sleep 1000; echo next $?$MARK";

/// The line in front of each one that an interactive shell reads.
const PROMPT: &str = "prompt";

/// A shell, which runs one line.
#[derive(Clone, Copy, Debug)]
enum Shell {
    Script(&'static str),
    Interactive(&'static str),
    /// make(1), which has the first command of the line and the rest as its two, and goes on when the first one fails.
    Make,
}

const SCRIPTS: [Shell; 2] = [Shell::Script("bash"), Shell::Script("dash")];
const INTERACTIVE: [Shell; 2] =
    [Shell::Interactive("bash --norc --noprofile -i"), Shell::Interactive("dash -i")];

/// The event while the program runs.
#[derive(Clone, Copy, Debug)]
enum Event {
    Key(&'static str),
    /// The key that interrupts, while another process has the lock.
    KeyOfWaiter,
    /// A signal to the program alone.
    Signal(Signal),
    /// The end of a timeout.
    None,
}

/// A line, the program in it, and the event.
type Case<'a> = (&'a str, &'a str, Event);

/// The codes of the commands after which a script went on, and its own one.
type Outcome = (Vec<String>, i32);

/// A script on a terminal of its own.
struct Script<'a> {
    space: &'a Space,
    terminal: Running,
    shell: Shell,
}

impl<'a> Script<'a> {
    fn start(space: &'a Space, directory: &Path, shell: Shell, run: &str, case: Case<'_>) -> Self {
        let (line, program, _) = case;
        let file = |name: &str| directory.join(name);
        let line = line.replace("RUN", run).replace("PROGRAM", "sh -c \"$SCRIPT\"");
        let (first, rest) = line.split_once("; ").unwrap();
        let makefile = "all:\n\t-@eval \"$$FIRST\"\n\t@eval \"$$REST\"\n";
        std::fs::write(file("Makefile"), makefile).unwrap();
        let command = match shell {
            Shell::Script(shell) => format!("exec {shell} -c \"$LINE\""),
            Shell::Interactive(shell) => format!("PS1='{PROMPT}\n' exec {shell}"),
            Shell::Make => "exec make -f \"$MAKEFILE\"".to_owned(),
        };
        let zklock =
            space.zklock("").env("LINE", &line).env("FIRST", first).env("REST", rest).env("MARK", "!");
        let zklock =
            zklock.env("LOCK", file("lock")).env("FILE", file("out")).env("MAKEFILE", file("Makefile"));
        let mut terminal = zklock.env("CODE", "130").on_terminal(&command, program).start();
        if let Shell::Interactive(_) = shell {
            terminal.line_with(PROMPT);
            terminal.types(&format!("{line}\n"));
        }
        Self { space, terminal, shell }
    }

    /// Waits until the command waits for its lock, which is a file of flock(1) or a node.
    async fn until_queued(&self, lock: &File) {
        let waiter = format!(":{} ", lock.metadata().unwrap().ino());
        let is_queued = async || {
            let locks = std::fs::read_to_string("/proc/locks").unwrap();
            let waits_for_file =
                locks.lines().any(|line| line.contains("-> FLOCK") && line.contains(&waiter));
            waits_for_file || self.space.children("/a").await.len() == 2
        };
        until(is_queued, "the command waits").await;
    }

    /// Ends an interactive shell when it reads again, and returns what came of the line.
    async fn outcome(mut self) -> Outcome {
        let mut text = String::new();
        if let Shell::Interactive(_) = self.shell {
            while !text.contains(PROMPT) {
                text += &self.terminal.line();
                text.push('\n');
            }
            self.terminal.types("exit 7\n");
        }
        text += &self.terminal.rest();
        let codes = text.split_whitespace().filter_map(|word| word.strip_suffix('!'));
        (codes.map(str::to_owned).collect(), self.terminal.code().await)
    }
}

/// Runs a line in a shell until the event has its effects.
async fn outcome(shell: Shell, run: &str, case: Case<'_>) -> Outcome {
    let event = case.2;
    let (space, directory) = (Space::new(), tempfile::tempdir().unwrap());
    let held = matches!(event, Event::KeyOfWaiter).then(|| {
        let lock = File::create(directory.path().join("lock")).unwrap();
        lock.lock().unwrap();
        (lock, space.holder("/a"))
    });
    let mut script = Script::start(&space, directory.path(), shell, run, case);
    match event {
        Event::KeyOfWaiter => {
            script.until_queued(&held.as_ref().unwrap().0).await;
            script.terminal.types(INTERRUPT);
        }
        Event::Key(key) => {
            script.terminal.line_with("ready ");
            script.terminal.types(key);
        }
        Event::Signal(signal) => {
            let program = script.terminal.process_with("ready ");
            kill(Pid::from_raw(program), signal).unwrap();
        }
        Event::None => {}
    }
    let outcome = script.outcome().await;
    assert_eq!(space.children("/a").await.len(), usize::from(held.is_some()), "the command leaves its queue");
    outcome
}

/// Compares the command with another one in each of these shells.
async fn assert_same(shells: &[Shell], other: &str, cases: &[Case<'_>]) {
    for &shell in shells {
        for &case in cases {
            let expected = outcome(shell, other, case).await;
            for run in [ZKLOCK, NESTED] {
                assert_eq!(
                    outcome(shell, run, case).await,
                    expected,
                    "{run} and {other}: {case:?} in {shell:?}"
                );
            }
        }
    }
}

const INTERRUPTED: [Case<'_>; 6] = [
    (LIST, SLEEPS, Event::Key(INTERRUPT)),
    (LOOP, SLEEPS, Event::Key(INTERRUPT)),
    (TO_FILE, SLEEPS, Event::Key(INTERRUPT)),
    (IN_PIPE, WRITES, Event::Key(INTERRUPT)),
    (LIST, READS, Event::Key(INTERRUPT)),
    (LIST, SLEEPS, Event::Key(QUIT)),
];

#[tokio::test]
async fn a_key_ends_a_script_as_with_flock() {
    assert_same(&SCRIPTS, FLOCK, &INTERRUPTED).await;
}

#[tokio::test]
async fn a_key_ends_make() {
    for run in [FLOCK, ZKLOCK, NESTED] {
        let (codes, code) = outcome(Shell::Make, run, (LIST, SLEEPS, Event::Key(INTERRUPT))).await;
        // The signal may disturb its wait for the command, which fails then.
        assert!(codes.is_empty() && [2, 130].contains(&code), "{run}: {code}");
    }
}

#[tokio::test]
async fn a_key_ends_the_line_of_an_interactive_shell_as_with_flock() {
    assert_same(&INTERACTIVE, FLOCK, &INTERRUPTED).await;
}

#[tokio::test]
async fn a_timeout_ends_a_program_that_reads_from_the_terminal_as_with_flock() {
    let cases = [(TIMEOUT, "", Event::None), (TIMEOUT_INSIDE, "", Event::None)];
    assert_same(&SCRIPTS, FLOCK, &cases).await;
    assert_same(&INTERACTIVE, FLOCK, &cases).await;
}

#[tokio::test]
async fn a_signal_to_the_program_alone_ends_the_command_alone() {
    let signals = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT];
    let cases = signals.map(|signal| (LIST, SLEEPS, Event::Signal(signal)));
    assert_same(&SCRIPTS, ENV, &cases).await;
    assert_same(&INTERACTIVE, ENV, &cases).await;
}

#[tokio::test]
async fn a_key_that_the_program_catches_has_the_effects_that_it_has_without_the_command() {
    for shell in SCRIPTS.into_iter().chain(INTERACTIVE) {
        let caught = async |run| outcome(shell, run, (LIST, CATCHES, Event::Key(INTERRUPT))).await;
        assert_eq!(caught(ZKLOCK).await, caught(ENV).await, "{shell:?}");
    }
}

#[tokio::test]
async fn a_key_ends_a_script_whose_command_waits_for_its_lock_as_with_flock() {
    let cases = [(LIST, SLEEPS, Event::KeyOfWaiter), (LOOP, SLEEPS, Event::KeyOfWaiter)];
    assert_same(&SCRIPTS, FLOCK, &cases).await;
    assert_same(&INTERACTIVE, FLOCK, &cases).await;
}

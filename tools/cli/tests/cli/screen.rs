//! `zklock top` and `watch` on a terminal, whose screen is captured.

use std::io::Write;
use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use serde_json::Value;
use vt100::Parser;

use crate::running::child_with;
use crate::support::Space;
use crate::zklock::Zklock;

pub(crate) const ROWS: NonZero<u16> = NonZero::new(30).unwrap();
pub(crate) const COLUMNS: NonZero<u16> = NonZero::new(100).unwrap();

/// Returns the command on a terminal of this size.
pub(crate) fn on_screen(space: &Space, arguments: &str) -> Zklock {
    let line = format!("stty rows {ROWS} cols {COLUMNS}; exec \"$ZKLOCK\" {arguments}");
    space.zklock("").env("TERM", "xterm").on_terminal(&line, "")
}

#[tokio::test]
async fn the_busiest_locks_and_the_longest_waiters_are_on_the_screen_until_a_key_ends_it() {
    let space = Space::new();
    let _alone = space.holder("/quiet --identity alone");
    let mut terminal = on_screen(&space, "top --interval 20ms").start();
    let mut screen = Parser::new(ROWS, COLUMNS, 0);
    terminal.until_shown(&mut screen, |text| text.contains("/quiet") && text.contains("alone"));
    let _busy = space.holder("/busy --identity holder");
    let _waits = space.waiter("/busy --identity patient");
    terminal.until_shown(&mut screen, |text| {
        let place = |word| text.lines().position(|line| line.contains(word));
        // The lock with a waiter is above the other one, and its waiter is in the second table.
        let is_busiest = place("holder").zip(place("alone")).is_some_and(|(busy, quiet)| busy < quiet);
        is_busiest && place("patient").zip(place("WAITER")).is_some_and(|(waiter, heading)| heading < waiter)
    });
    terminal.types("q");
    assert_eq!(terminal.code().await, 0);
    let mut json = space.zklock("top --json").start();
    let ranking: Value = serde_json::from_str(&json.line()).unwrap();
    assert_eq!(ranking["locks"][0]["path"], "/busy");
    assert_eq!(ranking["waiters"][0]["participant"]["identity"], "patient");
    assert_eq!(space.zklock("top").run().code, 70, "there is no terminal");
}

#[tokio::test]
async fn the_terminal_has_its_own_screen_and_mode_again_after_a_signal() {
    let space = Space::new();
    // The shell tells the mode of the terminal.
    let line = format!("stty rows {ROWS} cols {COLUMNS}; \"$ZKLOCK\" top; echo code=$?; stty -a");
    for signal in [Signal::SIGTERM, Signal::SIGHUP] {
        let mut terminal = space.zklock("").env("TERM", "xterm").on_terminal(&line, "").start();
        let mut screen = Parser::new(ROWS, COLUMNS, 0);
        terminal.until_shown(&mut screen, |text| text.contains("zklock top"));
        let shell = child_with(terminal.pid(), "-c").expect("the terminal has a shell");
        kill(child_with(shell, "top").expect("it runs"), signal).unwrap();
        let rest = terminal.rest();
        assert!(rest.contains("\u{1b}[?1049l"), "{signal}: {rest:?}");
        assert!(rest.contains(&format!("code={}", 128 + signal as i32)), "{signal}: {rest:?}");
        assert!(rest.contains(" icanon") && rest.contains(" echo "), "{signal}: {rest:?}");
    }
}

#[tokio::test]
async fn keys_do_not_keep_the_screen_from_its_next_look() {
    let space = Space::new();
    let mut terminal = on_screen(&space, "top --interval 1s").start();
    let mut screen = Parser::new(ROWS, COLUMNS, 0);
    terminal.until_shown(&mut screen, |text| text.contains("zklock top"));
    // The next key comes much sooner than the next look, even if this machine is under load.
    let mut keys = terminal.keys();
    let is_shown = Arc::new(AtomicBool::new(false));
    let typing = std::thread::spawn({
        let is_shown = is_shown.clone();
        move || {
            while !is_shown.load(Ordering::Relaxed) {
                keys.write_all(&[b'x'; 20]).expect("it reads");
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    });
    let _holder = space.holder("/new");
    terminal.until_shown(&mut screen, |text| text.contains("/new"));
    is_shown.store(true, Ordering::Relaxed);
    typing.join().unwrap();
}

#[tokio::test]
async fn changes_are_on_the_screen_until_a_key_interrupts_them() {
    let space = Space::new();
    let holder = space.holder("/a --identity first");
    let mut terminal = on_screen(&space, "watch --interval 20ms").start();
    let mut screen = Parser::new(ROWS, COLUMNS, 0);
    terminal.until_shown(&mut screen, |text| text.contains("holds    /a  first"));
    holder.signal(Signal::SIGTERM);
    terminal.until_shown(&mut screen, |text| text.contains("leaves   /a  first"));
    terminal.types("\u{3}");
    assert_eq!(terminal.code().await, 130);
}

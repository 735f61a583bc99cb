//! `zklock exec`: locks of every kind, the environment and the code of the program, and signals.

use nix::sys::signal::Signal;

use crate::running::{is_alive, state};
use crate::support::Space;
use crate::waiting::until;
use crate::zklock::{Zklock, full_disk};

#[tokio::test]
async fn a_program_has_its_lock_its_input_and_its_output_and_its_code_is_returned() {
    let space = Space::new();
    let script = "read line; echo \"$ZKLOCK_PATH $line\"; echo $ZKLOCK_TOKEN >&2; exit 7";
    let ended = space.zklock("exec /a").shell(script).run_with("told\n");
    assert_eq!((ended.code, ended.out.as_str()), (7, "/a told\n"));
    let first = ended.err.trim().to_owned();
    let second = space.zklock("exec /a").shell("echo $ZKLOCK_TOKEN").run().out;
    // Texts of tokens have their order.
    assert!(first.len() == 30 && first < second, "{first} {second}");
    assert!(space.children("/a").await.is_empty());
}

#[tokio::test]
async fn a_lock_in_use_is_contended_and_free_after_its_program() {
    let space = Space::new();
    let mut holder = space.zklock("exec /a").shell("echo held; read line").start();
    assert_eq!(holder.line(), "held");
    // The input of the holder has ended, so the program ends too. Another one waits for a signal.
    assert_eq!(holder.code().await, 1);
    let mut holder = space.holder("/a");
    let refused = space.zklock("exec /a --no-wait").shell("echo ran").run();
    assert_eq!((refused.code, refused.out.as_str()), (75, ""));
    assert!(refused.err.contains("lock /a is held by others"), "{}", refused.err);
    let refused = space.zklock("exec /a --wait 5s --json").shell("echo ran").run();
    let error: serde_json::Value = serde_json::from_str(refused.err.trim()).unwrap();
    assert_eq!((refused.code, &error["kind"], &error["code"]), (75, &"contended".into(), &75.into()));
    let mut next = space.zklock("exec /a").shell("echo next").start();
    space.until_queued("/a", 2).await;
    holder.ends_by(Signal::SIGTERM).await;
    assert_eq!(next.line(), "next");
    assert_eq!(next.code().await, 0);
}

#[tokio::test]
async fn readers_share_a_lock_and_permits_are_counted() {
    let space = Space::new();
    let _reader = space.holder("/rw --mode read");
    assert_eq!(space.zklock("exec /rw --mode read --no-wait").shell("exit 0").run().code, 0);
    assert_eq!(space.zklock("exec /rw --mode write --no-wait").shell("exit 0").run().code, 75);
    let permits = "exec /permits --no-wait --of 3";
    let _two = space.holder("/permits --permits 2 --of 3");
    assert_eq!(space.zklock(&format!("{permits} --permits 1")).shell("exit 0").run().code, 0);
    assert_eq!(space.zklock(&format!("{permits} --permits 2")).shell("exit 0").run().code, 75);
    space.zklock("exec /permits --permits 1 --of 9").shell("exit 0").ends(70);
}

#[tokio::test]
async fn a_program_runs_once_per_period() {
    let space = Space::new();
    let exec = |lock: &str| {
        let zklock = space.zklock(&format!("exec {lock} --once-per 1h --json"));
        zklock.shell("echo ran").run()
    };
    assert_eq!(exec("/job").out, "ran\n");
    let skipped = exec("/job");
    assert_eq!((skipped.code, skipped.out.as_str()), (0, ""));
    assert!(skipped.err.contains(r#""event":"skipped""#), "{}", skipped.err);
    // The path of another lock may go on where this one ends.
    assert_eq!(exec("/job/two").out, "ran\n");
}

#[tokio::test]
async fn the_end_of_a_program_is_not_waited_for_when_its_period_has_begun() {
    let space = Space::new();
    let _first = space.holder("/job --once-per 1h");
    for patience in ["--wait 1h", "--no-wait"] {
        let zklock = space.zklock(&format!("exec /job --once-per 1h --json {patience}"));
        let skipped = zklock.shell("echo ran").run();
        assert_eq!((skipped.code, skipped.out.as_str()), (0, ""), "{}", skipped.err);
        assert!(skipped.err.contains(r#""event":"skipped""#), "{}", skipped.err);
    }
    space.zklock("exec /job --once-per 1h --tick /other --no-wait").shell("echo ran").ends(75);
    space.until_queued("/job", 1).await;
}

#[tokio::test]
async fn a_signal_while_waiting_ends_the_wait_and_leaves_no_place_in_the_queue() {
    let space = Space::new();
    let client = space.client().await;
    let guard = client.mutex("/a").unwrap().lock().await.unwrap();
    // On a terminal whose shell has no jobs, nothing is suspended.
    let mut waiter = space.zklock("exec /a").shell("echo ran").through("setsid").start();
    space.until_queued("/a", 2).await;
    let pid = waiter.pid().as_raw();
    waiter.signal(Signal::SIGTSTP);
    until(async || state(pid) == Some('T'), "the wait is suspended").await;
    waiter.signal(Signal::SIGCONT);
    waiter.ends_by(Signal::SIGINT).await;
    assert_eq!((space.children("/a").await.len(), waiter.rest().as_str()), (1, ""));
    guard.release().await.unwrap();
}

#[tokio::test]
async fn signals_reach_the_program_and_those_of_the_user_no_other_process_of_its_group() {
    let space = Space::new();
    // The child of the shell has no handler for any of the signals.
    let script = "trap 'echo usr1' USR1; trap 'echo hup; exit 9' HUP; sleep 1000 & echo $!; \
                  while :; do wait; done";
    // On the terminal of the tests, zklock would stop itself, too, or not pass on the signal.
    let mut running = space.zklock("exec /a").shell(script).through("setsid").start();
    let child = running.process();
    running.signal(Signal::SIGUSR1);
    assert_eq!(running.line(), "usr1");
    assert!(is_alive(child), "a signal of the user is for the program alone");
    running.signal(Signal::SIGTSTP);
    until(async || state(child) == Some('T'), "the group stops").await;
    running.signal(Signal::SIGCONT);
    until(async || state(child) == Some('S'), "the group goes on").await;
    running.signal(Signal::SIGHUP);
    assert_eq!(running.line(), "hup");
    assert_eq!(running.code().await, 9);
    until(async || !is_alive(child), "the signal that ends reaches the whole group").await;
}

#[tokio::test]
async fn a_signal_that_was_ignored_from_the_start_stays_ignored() {
    let space = Space::new();
    let mut running =
        space.zklock("exec /a").shell("kill -HUP $$; echo alive; exec sleep 1000").through("nohup").start();
    assert_eq!(running.line(), "alive");
    running.signal(Signal::SIGHUP);
    running.ends_by(Signal::SIGTERM).await;
}

#[tokio::test]
async fn nested_locks_are_held_together_and_the_inner_program_ends_with_the_outer_lock() {
    let space = Space::new();
    let zklock = Zklock::path();
    let script = format!("exec {zklock} exec /inner -- sh -c 'echo $$ $ZKLOCK_PATH; exec sleep 1000'");
    let mut running = space.zklock("exec /outer").shell(&script).start();
    let line = running.line();
    let (pid, path) = line.split_once(' ').unwrap();
    let pid: i32 = pid.parse().unwrap();
    assert_eq!(path, "/inner");
    for path in ["/outer", "/inner"] {
        assert_eq!(space.children(path).await.len(), 1, "{path}");
    }
    space.delete_children("/outer").await;
    assert_eq!(running.code().await, 79);
    assert!(!is_alive(pid));
    until(async || space.children("/inner").await.is_empty(), "the inner lock is released").await;
}

#[tokio::test]
async fn a_full_disk_costs_neither_the_lock_nor_the_code() {
    let space = Space::new();
    // A shell returns 1 or more if it cannot write.
    let ended = space.zklock("exec /a").shell("echo lost").out_to(full_disk()).run();
    assert!(ended.code == 1 || ended.code == 2, "{}", ended.code);
    space.zklock("exec /a --json -vv").shell("exit 5").err_to(full_disk()).ends(5);
    let mut running =
        space.zklock("exec /a --json").shell("echo $$; exec sleep 1000").err_to(full_disk()).start();
    let pid = running.process();
    space.delete_children("/a").await;
    assert_eq!(running.code().await, 79);
    assert!(!is_alive(pid));
    assert!(space.children("/a").await.is_empty());
    let client = space.client().await;
    let free = client.mutex("/a").unwrap().lock().await;
    free.unwrap().release().await.unwrap();
}

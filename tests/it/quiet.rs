//! Events that are logged as warnings, and cancellations that are not.

use std::env;
use std::process::Command;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::sleep;
use zklock::{Config, Ended, LockError, LossReason, distributed_lock, leader_only};

use crate::support::frames::{Frame, Interrupted};
use crate::support::logs::{Loud, logged};
use crate::support::{INSTALLED, Space, lead, soon, until};

#[distributed_lock(path = "/skipped-and-logged", skip, name = "the nightly sweep")]
async fn skipped() {}

#[leader_only(name = "the nightly report")]
async fn named_and_unled() {}

#[tokio::test]
async fn a_skipped_call_is_logged_with_the_name_that_it_was_given() {
    Loud::listen();
    let (space, client) = Space::with_client().await;
    let held = space.client().await.mutex("/skipped-and-logged").unwrap().lock().await.unwrap();
    let before = logged("/skipped-and-logged").len();
    zklock::scope(client, skipped()).await;
    let lines = logged("/skipped-and-logged");
    assert!(lines.len() > before, "{lines:?}");
    assert!(lines.iter().all(|line| line.contains("function=\"the nightly sweep\"")), "{lines:?}");
    held.release().await.unwrap();
    let _uninstalled = INSTALLED.read().await;
    named_and_unled().await;
    let lines = logged("the nightly report");
    assert!(lines.iter().all(|line| tells_of_no_client(line)), "{lines:?}");
    assert!(!lines.is_empty());
}

/// Another test of this process may have installed a client and shut it down.
fn tells_of_no_client(line: &str) -> bool {
    ["no client is installed", "cannot use lock"].iter().any(|error| line.contains(&format!("error={error}")))
}

#[tokio::test]
async fn a_member_that_is_given_back_when_the_wait_for_another_is_over_is_no_failed_release() {
    Loud::listen();
    let (space, [client, rival]) = Space::with_clients().await;
    let held = rival.mutex("/given-back/b").unwrap().lock().await.unwrap();
    let both = client.multi(["/given-back/a", "/given-back/b"]).unwrap();
    for _ in 0..5 {
        let error = both.lock_timeout(Duration::from_millis(50)).await.unwrap_err();
        assert!(error.is_contended(), "{error}");
    }
    space.until_empty("/given-back/a").await;
    assert_eq!(logged("/given-back/a"), [""; 0]);
    held.release().await.unwrap();
}

#[leader_only]
async fn sweep_that_reports_nothing() {
    unreachable!("there is no client");
}

#[tokio::test]
async fn a_function_that_cannot_report_an_error_logs_it_with_its_own_name() {
    Loud::listen();
    let _uninstalled = INSTALLED.read().await;
    sweep_that_reports_nothing().await;
    let logged = logged("sweep_that_reports_nothing");
    let [line] = &logged[..] else { panic!("{logged:?}") };
    assert!(line.starts_with("zklock "), "{line}");
    assert!(line.contains(&format!("function=\"{}::sweep_that_reports_nothing\"", module_path!())), "{line}");
    assert!(tells_of_no_client(line), "{line}");
}

#[tokio::test]
async fn a_session_timeout_that_is_not_granted_is_logged_once_with_both_times() {
    Loud::listen();
    let space = Space::new();
    // The servers grant between one and ten seconds. The times do not occur in the log lines of other tests.
    for (asked, granted) in [(31_007, Some("10s")), (853, Some("1s")), (7_013, None)] {
        let asked = Duration::from_millis(asked);
        let config = space.config().session_timeout(asked).server_timeout(asked * 2 / 5);
        let client = config.connect().await.unwrap();
        client.mutex("/a").unwrap().lock().await.unwrap().release().await.unwrap();
        let lines = logged(&format!("asked={asked:?}"));
        assert_eq!(lines.len(), usize::from(granted.is_some()), "{lines:?}");
        for line in lines {
            assert!(line.contains(&format!("granted={}", granted.unwrap_or_default())), "{line}");
            assert!(line.contains("ask for this one, or change their limits"), "{line}");
        }
    }
}

#[tokio::test]
async fn the_end_of_a_session_is_a_warning_unless_the_client_is_shut_down() {
    Loud::listen();
    let (space, client) = Space::with_client().await;
    let ended = client.session_id().unwrap();
    let guard = client.mutex("/a").unwrap().lock().await.unwrap();
    space.end_session_of(&client);
    soon(guard.lost()).await;
    let warnings = logged(&format!("session={ended:#x}"));
    assert!(warnings.iter().any(|line| line.contains("health=Lost")), "{warnings:?}");
    drop(guard);
    client.mutex("/a").unwrap().lock().await.unwrap().release().await.unwrap();
    let closed = client.session_id().unwrap();
    client.shutdown(Duration::from_secs(5)).await;
    assert_eq!(logged(&format!("session={closed:#x}")), [""; 0]);
}

/// Runs itself again in a process with other variables.
#[test]
fn a_variable_with_a_wrong_name_is_logged_with_the_nearest_one() {
    const MISSPELLED: &str = "ZKLOCK_SESION_TIMEOUT";
    if env::var_os(MISSPELLED).is_some() {
        Loud::listen();
        Config::from_env().unwrap();
        logged("").iter().for_each(|line| crate::support::process::report(line));
        return;
    }
    let test = "quiet::a_variable_with_a_wrong_name_is_logged_with_the_nearest_one";
    let known = ["ZKLOCK_CONNECT", "ZKLOCK_IDENTITY", "ZKLOCK_TOKEN", "ZKLOCK_PATH", "ZKLOCK_CONFIG"];
    let mut again = Command::new(env::current_exe().unwrap());
    let again = again.args(["--exact", test, "--nocapture"]).env(MISSPELLED, "1s").env("ZKLOCK_OTHER", "");
    let output = again.envs(known.map(|name| (name, "a"))).output().unwrap();
    let output = String::from_utf8(output.stdout).unwrap();
    let mut told: Vec<_> = output.lines().filter(|line| line.contains("variable=")).collect();
    told.sort_unstable();
    let [other, misspelled] = &told[..] else { panic!("{output}") };
    assert!(other.contains("variable=\"ZKLOCK_OTHER\"") && !other.contains("nearest"), "{other}");
    let expected = format!("variable=\"{MISSPELLED}\" nearest=\"ZKLOCK_SESSION_TIMEOUT\"");
    assert!(misspelled.contains(&expected), "{misspelled}");
}

#[tokio::test]
async fn a_lock_cancelled_in_any_phase_leaves_nothing_and_logs_no_trouble() {
    Loud::listen();
    let scene = Interrupted::new().await;
    let space = &scene.space;
    // The path does not occur in the log lines of other tests.
    let path = space.namespace.clone();
    let other = space.client().await.mutex(&path).unwrap();
    for frame in Frame::BOTH {
        let work = || {
            let (client, other, space) = (scene.client(), other.clone(), space.clone());
            let (mutex, path) = (client.mutex(&path).unwrap(), path.clone());
            async move {
                // Another client comes in between, so that this one lists the queue again, and waits.
                let held = other.lock().await.unwrap();
                let release = async {
                    until(async || space.is_watching(&client, &path), "it waits").await;
                    held.release().await.unwrap();
                };
                let (guard, ()) = tokio::join!(mutex.lock(), release);
                guard.unwrap().release().await.unwrap();
            }
        };
        scene.drop_at_each(frame, work, async || space.until_empty(&path).await).await;
    }
    assert_eq!(logged(&path), [""; 0]);

    let guard = other.lock().await.unwrap();
    space.delete_children(&path).await;
    assert_eq!(soon(guard.lost()).await, LossReason::NodeDeleted);
    // The holder is told before the loss is logged.
    until(|| async { !logged(&path).is_empty() }, "the loss is logged").await;
    assert!(logged(&path)[0].contains("lock lost"), "{:?}", logged(&path));
}

#[tokio::test]
async fn a_selector_that_runs_once_logs_that_it_cannot_run_before_it_ends() {
    Loud::listen();
    let space = Space::new();
    let (latch, _term) = lead(&space.client().await, "/refused-selector").await;
    let selector = space.client().await.election("/refused-selector").unwrap().select(async |_| {});
    assert!(matches!(soon(selector.ended()).await, Ended::Failed(LockError::MixedRecipes { .. })));
    let lines = logged("/refused-selector");
    let [line] = &lines[..] else { panic!("{lines:?}") };
    assert!(line.contains("message=a candidate cannot run") && line.contains("error="), "{line}");
    assert!(latch.is_leader());
    space.until_queued("/refused-selector", 1).await;
}

const AFTER: Duration = Duration::from_millis(200);

#[tokio::test]
async fn the_longest_of_the_waits_for_a_lock_is_logged_once_with_the_holder_and_the_number_of_calls() {
    Loud::listen();
    let space = Space::new();
    let [path, silent] = ["line", "silent"].map(|name| format!("{}-{name}", space.namespace));
    let other = space.config().identity("billing-7").connect().await.unwrap();
    let client = space.config().warn_after(AFTER).connect().await.unwrap();
    let without = space.config().warn_after(Duration::MAX).connect().await.unwrap();
    let held = other.lock_all([&path, &silent]).await.unwrap();
    let mut calls = JoinSet::new();
    for (client, path, count) in [(&without, &silent, 1), (&client, &path, 50)] {
        for _ in 0..count {
            let mutex = client.mutex(path).unwrap();
            calls.spawn(async move { mutex.lock().await.map(drop) });
        }
    }
    until(async || !logged(&path).is_empty(), "the waits are logged").await;
    sleep(3 * AFTER).await;
    let lines = logged(&path);
    let [line] = &lines[..] else { panic!("{lines:?}") };
    for part in ["a call has waited long for its lock", "phase=Queued", "held by \"billing-7\"", "calls=50"] {
        assert!(line.contains(part), "{line}");
    }
    assert_eq!(logged(&silent), [""; 0]);
    held.release().await.unwrap();
    while let Some(call) = soon(calls.join_next()).await {
        call.unwrap().unwrap();
    }
}

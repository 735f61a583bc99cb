//! The threads on which the code of users runs, drops and formatting included: never on the client's own.

use std::error::Error;
use std::fmt;
use std::future::pending;
use std::panic::panic_any;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use zklock::{Ended, MutexGuard, Verdict};

use crate::support::{Space, failed, lead, soon, until};

const PATH: &str = "/sweeper";
/// The name of the thread of a client, which sends the heartbeats.
const CLIENT: &str = "zklock-session";

/// The steps of a user's code, each with the name of its thread.
#[derive(Clone, Debug, Default)]
struct Record(Arc<Mutex<Vec<(&'static str, String)>>>);

impl Record {
    fn note(&self, step: &'static str) {
        let thread = thread::current().name().unwrap_or_default().to_owned();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((step, thread));
    }

    fn value(&self, step: &'static str) -> Value {
        Value { step, record: self.clone() }
    }

    fn threads(&self, step: &str) -> Vec<String> {
        let steps = self.0.lock().unwrap();
        steps.iter().filter(|(name, _)| *name == step).map(|(_, thread)| thread.clone()).collect()
    }

    /// Waits until each of these steps was taken, and checks that none was taken on the client's thread.
    async fn until_taken_elsewhere<const N: usize>(&self, steps: [&'static str; N]) {
        for step in steps {
            until(|| async { !self.threads(step).is_empty() }, step).await;
        }
        let steps = self.0.lock().unwrap();
        let wrong: Vec<_> = steps.iter().filter(|(_, thread)| thread == CLIENT).collect();
        assert!(wrong.is_empty(), "on the client's thread: {wrong:?}");
    }
}

#[derive(Debug)]
struct Value {
    step: &'static str,
    record: Record,
}

impl Drop for Value {
    fn drop(&mut self) {
        self.record.note(self.step);
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.record.note("format");
        f.write_str("no disk")
    }
}

impl Error for Value {}

#[tokio::test]
async fn a_callback_its_future_and_its_error_are_used_and_dropped_elsewhere() {
    let (space, record) = (Space::new(), Record::default());
    let (steps, callback) = (record.clone(), record.value("drop of the callback"));
    let selector = space.client().await.election(PATH).unwrap().select(move |_| {
        callback.record.note("callback");
        let (steps, future) = (steps.clone(), steps.value("drop of the future"));
        async move {
            future.record.note("future");
            Err::<(), _>(steps.value("drop of the error"))
        }
    });
    let steps = ["callback", "future", "drop of the future", "format", "drop of the error"];
    record.until_taken_elsewhere(steps).await;
    until(|| async { selector.last_failure().is_some() }, "the failure is told").await;
    assert_eq!(selector.last_failure().unwrap(), "no disk");
    selector.close().await.unwrap();
    record.until_taken_elsewhere(["drop of the callback"]).await;
}

struct Outcome(Value);

impl Verdict for Outcome {
    fn failure(self) -> Option<String> {
        self.0.record.note("judge");
        None
    }
}

fn fail(value: Value) -> Outcome {
    panic_any(value)
}

#[rstest::rstest]
#[case::verdict(Outcome, &["judge", "drop of the value"])]
#[case::panic(fail, &["drop of the value"])]
#[tokio::test]
async fn a_verdict_or_a_panic_of_a_callback_is_used_and_dropped_elsewhere(
    #[case] end: fn(Value) -> Outcome,
    #[case] steps: &[&'static str],
) {
    let (space, record) = (Space::new(), Record::default());
    let values = record.clone();
    let _selector = space.client().await.election(PATH).unwrap().select(move |_| {
        let value = values.value("drop of the value");
        async move { end(value) }
    });
    for step in steps {
        record.until_taken_elsewhere([step]).await;
    }
}

#[tokio::test]
async fn a_callback_whose_term_or_runtime_ends_is_dropped_elsewhere() {
    let (space, record) = (Space::new(), Record::default());
    let election = space.client().await.election(PATH).unwrap().auto_requeue();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
    let (steps, callback) = (record.clone(), record.value("drop of the callback"));
    let inside = runtime.enter();
    let selector = election.select(move |_| {
        callback.record.note("callback");
        let future = steps.value("drop of the future");
        async move {
            let _future = future;
            pending::<()>().await;
        }
    });
    drop(inside);
    record.until_taken_elsewhere(["callback"]).await;
    selector.interrupt();
    record.until_taken_elsewhere(["drop of the future"]).await;
    until(|| async { record.threads("callback").len() == 2 }, "it runs again").await;
    runtime.shutdown_background();
    assert!(matches!(soon(selector.ended()).await, Ended::Closed));
    assert!(!selector.has_leadership());
    record.until_taken_elsewhere(["drop of the callback"]).await;
    space.until_empty(PATH).await;
}

#[derive(Debug)]
struct Broken;

impl fmt::Display for Broken {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        panic!("a bug in the error")
    }
}

impl Error for Broken {}

#[tokio::test]
async fn an_error_that_panics_when_it_is_formatted_does_not_end_its_selector() {
    let space = Space::new();
    let (told, mut led) = tokio::sync::mpsc::unbounded_channel();
    let election = space.client().await.election(PATH).unwrap().auto_requeue();
    let selector = election.select(move |_| {
        told.send(()).unwrap();
        async { Err::<(), _>(Broken) }
    });
    for _ in 0..3 {
        soon(led.recv()).await.unwrap();
    }
    assert!(selector.last_failure().unwrap().contains("a bug in the error"));
}

fn listen(guard: &MutexGuard, record: &Record) {
    let callback = record.value("drop of the callback");
    guard.on_revoke(move || callback.record.note("callback"));
}

#[tokio::test]
async fn a_callback_of_a_revocation_is_called_and_dropped_elsewhere() {
    let (space, record) = (Space::new(), Record::default());
    let client = space.client().await;
    let mutex = client.mutex(PATH).unwrap();
    let dropped = |times| {
        let record = &record;
        async move {
            let drops = || record.threads("drop of the callback").len();
            until(|| async { drops() == times }, "the callback is dropped").await;
            record.until_taken_elsewhere([]).await;
        }
    };
    let guard = mutex.lock().await.unwrap();
    listen(&guard, &record);
    guard.release().await.unwrap();
    dropped(1).await;
    let guard = mutex.lock().await.unwrap();
    listen(&guard, &record);
    drop(guard);
    dropped(2).await;
    assert!(record.threads("callback").is_empty());
    let guard = mutex.lock().await.unwrap();
    listen(&guard, &record);
    client.revoke(&mutex.participants().await.unwrap()[0]).await.unwrap();
    dropped(3).await;
    assert_eq!(record.threads("callback"), ["zklock-revoked"]);
    guard.release().await.unwrap();
    let guard = mutex.lock().await.unwrap();
    listen(&guard, &record);
    soon(client.shutdown(Duration::ZERO)).await;
    record.until_taken_elsewhere([]).await;
    drop(guard);
    dropped(4).await;
}

impl From<Value> for Vec<u8> {
    fn from(data: Value) -> Self {
        data.record.note("conversion");
        b"today".to_vec()
    }
}

/// Returns a body that never ends, whose start and whose drop are steps.
fn body(record: &Record) -> impl Future<Output = ()> + use<> {
    let body = record.value("drop of the body");
    async move {
        body.record.note("body");
        pending().await
    }
}

#[tokio::test]
async fn bodies_and_data_under_a_lock_or_a_term_are_used_and_dropped_elsewhere() {
    let (space, record) = (Space::new(), Record::default());
    let client = space.client().await;
    let guard = client.mutex("/held").unwrap().lock().await.unwrap();
    let (latch, term) = lead(&client, PATH).await;
    guard.create("/data", record.value("drop of the data")).await.unwrap();
    guard.set_data("/data", record.value("drop of the data")).await.unwrap();
    term.set_data("/data", record.value("drop of the data")).await.unwrap();
    let bodies = async { tokio::join!(guard.run(body(&record)), term.run(body(&record))) };
    let end = async {
        until(|| async { record.threads("body").len() == 2 }, "both run").await;
        space.end_session_of(&client);
    };
    let ((first, second), ()) = soon(async { tokio::join!(bodies, end) }).await;
    assert!(failed(first).is_lost() && failed(second).is_lost());
    let mut changes = latch.changes();
    while soon(changes.next()).await != Some(true) {}
    record.until_taken_elsewhere(["conversion", "drop of the data", "body", "drop of the body"]).await;
}

//! The installed clients of a process. No other test of this binary may install one.

use std::time::Duration;

use tokio::sync::oneshot;
use zklock::{LockError, Readiness, Scope, distributed_lock};

use crate::support::{INSTALLED, SOON, Space, failed, soon, until};

#[distributed_lock(path = "/nightly")]
async fn nightly(space: &Space) -> Result<usize, LockError> {
    Ok(space.children("/nightly").await.len())
}

#[distributed_lock(path = "/report", client = "reporting")]
async fn report(space: &Space) -> Result<usize, LockError> {
    Ok(space.children("/report").await.len())
}

#[tokio::test]
async fn calls_use_the_installed_clients() {
    // One case at a time, because the cases share the process.
    let _alone = INSTALLED.write().await;
    let (space, reporting) = (Space::new(), Space::new());
    nothing_is_installed().await;

    zklock::install(space.client().await).unwrap();
    zklock::install_as("reporting", reporting.client().await).unwrap();
    assert_eq!(nightly(&space).await.unwrap(), 1);
    assert_eq!(report(&reporting).await.unwrap(), 1);
    assert_eq!(zklock::readiness(), Readiness::Ready);
    a_second_one_is_refused(&space).await;

    the_worst_of_the_installed_clients_says_whether_all_are_ready(&space).await;

    let first = zklock::client().unwrap();
    zklock::shutdown(SOON).await;
    assert!(failed(first.mutex("/nightly").unwrap().lock().await).is_closed());
    the_clients_are_closed(&space).await;

    zklock::install(space.client().await).unwrap();
    assert_eq!(nightly(&space).await.unwrap(), 1);
    assert!(failed(report(&space).await).is_closed(), "another client is installed under another name");
    a_shutdown_lets_a_body_go_on_to_call_others(&space).await;
    the_clients_are_closed(&space).await;
}

#[distributed_lock(path = "/nightly")]
async fn whole_night(
    space: &Space,
    begins: oneshot::Sender<()>,
    goes_on: oneshot::Receiver<()>,
) -> Result<usize, LockError> {
    begins.send(()).expect("the test waits for the beginning");
    goes_on.await.expect("the test goes on");
    nightly(space).await
}

async fn a_shutdown_lets_a_body_go_on_to_call_others(space: &Space) {
    let client = zklock::client().unwrap();
    let (begins, begun) = oneshot::channel();
    let (go_on, goes_on) = oneshot::channel();
    let body = whole_night(space, begins, goes_on);
    let shutdown = async {
        // A contender in the queue is not enough: a shutdown refuses an attempt that does not hold the lock yet.
        begun.await.expect("the body begins");
        zklock::shutdown(SOON).await;
    };
    let continues = async {
        let probe = client.mutex("/probe").unwrap();
        until(|| async { probe.try_lock().await.is_err() }, "the shutdown has begun").await;
        go_on.send(()).expect("the body waits");
    };
    let (count, (), ()) = soon(async { tokio::join!(body, shutdown, continues) }).await;
    assert_eq!(count.unwrap(), 1);
}

async fn the_worst_of_the_installed_clients_says_whether_all_are_ready(space: &Space) {
    zklock::named_client("reporting").unwrap().shutdown(Duration::ZERO).await;
    assert_eq!(zklock::client().unwrap().readiness(), Readiness::Ready);
    assert_eq!(zklock::readiness(), Readiness::Closing);
    let (client, scope) = (space.client().await, Scope::new());
    let in_scope = async |scope: &Scope| scope.clone().run(async { zklock::readiness() }).await;
    let default = scope.clone().client(client.clone());
    assert_eq!(in_scope(&default).await, Readiness::Closing, "the installed one is found by its name");
    assert_eq!(in_scope(&scope.named("audit", client.clone())).await, Readiness::Closing);
    assert_eq!(in_scope(&default.named("reporting", client)).await, Readiness::Ready);
}

async fn nothing_is_installed() {
    #[distributed_lock(path = "/audit", client = "nobody's")]
    async fn audit() -> Result<(), LockError> {
        Ok(())
    }
    let error = failed(audit().await);
    let LockError::NotInstalled { name: Some(name), path: Some(path) } = &error else { panic!("{error}") };
    assert_eq!((name.as_str(), path.as_str()), ("nobody's", "/audit"));
    let error = failed(zklock::named_client("nobody's"));
    assert!(matches!(&error, LockError::NotInstalled { path: None, .. }), "{error}");
}

async fn the_clients_are_closed(space: &Space) {
    assert_eq!(zklock::readiness(), Readiness::Closing);
    let error = failed(nightly(space).await);
    assert_eq!(error.to_string(), "cannot use lock /nightly: the client is closed");
    let error = failed(report(space).await);
    assert_eq!(error.to_string(), "cannot use lock /report: the client is closed");
    let error = failed(zklock::election("/leader"));
    assert_eq!(error.to_string(), "cannot use lock /leader: the client is closed");
    assert_eq!(failed(zklock::client()).to_string(), "the client is closed");
}

async fn a_second_one_is_refused(space: &Space) {
    let second = space.client().await;
    let error = failed(zklock::install(second.clone()));
    assert!(matches!(error, LockError::AlreadyInstalled { name: None }), "{error}");
    let error = failed(zklock::install_as("reporting", second));
    assert!(error.to_string().contains("\"reporting\""), "{error}");
    assert_eq!(nightly(space).await.unwrap(), 1, "the first one stays");
}

//! The locks, terms and clients that a call finds around it: `current`, the assertions, scopes, and threads for blocking
//! work.

use std::panic::{AssertUnwindSafe, catch_unwind};

use tokio::sync::oneshot;
use zklock::{
    Client, FencingToken, Held, LockError, LossReason, Member, Permits, current, distributed_lock,
    leader_only,
};

use crate::support::{Space, failed, lead, soon, until, until_leads};

fn path() -> Option<String> {
    current().map(|current| current.path().to_owned())
}

#[tokio::test]
async fn the_innermost_lock_or_term_is_found_and_gone_after_its_body() {
    let client = Space::new().client().await;
    let (outer, inner) = (client.mutex("/outer").unwrap(), client.rwlock("/inner").unwrap());
    let (_latch, term) = lead(&client, "/leader").await;
    assert_eq!(path(), None);
    let guard = outer.lock().await.unwrap();
    assert_eq!(path(), None, "a guard alone is no body");
    let under_all = guard.run(async {
        assert_eq!(current().unwrap().fencing_token(), guard.fencing_token());
        let under_term = term.run(async {
            assert_eq!(path().as_deref(), Some("/leader"));
            assert_eq!(current().unwrap().fencing_token(), term.fencing_token());
            let reader = inner.read().await.unwrap();
            assert_eq!(reader.run_blocking(path).unwrap().as_deref(), Some("/inner"));
            let again = outer.lock().await.unwrap();
            assert_eq!(again.scope(async { path() }).await.as_deref(), Some("/outer"));
            path()
        });
        assert_eq!(under_term.await.unwrap().as_deref(), Some("/leader"));
        assert_eq!(term.run_blocking(path).unwrap().as_deref(), Some("/leader"));
        assert_eq!(term.run_to_end(async { path() }).await.unwrap().as_deref(), Some("/leader"));
        path()
    });
    assert_eq!(under_all.await.unwrap().as_deref(), Some("/outer"));
    assert_eq!(path(), None);
}

async fn pay(order: u64) -> Result<FencingToken, LockError> {
    let lock = current().expect("the caller holds the lock of the order");
    lock.verify().await?;
    lock.upsert(&format!("/ledgers/{order}"), "paid").await?;
    assert_eq!(lock.get(&format!("/ledgers/{order}")).await?.as_deref(), Some(&b"paid"[..]));
    lock.set_data(&format!("/ledgers/{order}"), "settled").await?;
    lock.create(&format!("/ledgers/{order}/done"), "").await?;
    lock.delete(&format!("/ledgers/{order}/done")).await?;
    Ok(lock.fencing_token())
}

#[distributed_lock(path = "/orders/{order}", guard = held)]
async fn settle(order: u64) -> Result<(), LockError> {
    assert_eq!(pay(order).await?, held.fencing_token());
    Ok(())
}

#[distributed_lock(path = "/orders/{order}")]
fn settled(order: u64) -> Result<Option<String>, LockError> {
    Ok(path()).map(|path| path.filter(|path| path.ends_with(&order.to_string())))
}

#[leader_only(path = "/leader", guard = term)]
async fn sweep() -> Result<Option<FencingToken>, LockError> {
    let token = pay(9).await?;
    assert_eq!(token, term.fencing_token());
    Ok(Some(token))
}

#[leader_only(path = "/leader")]
fn swept() -> Option<String> {
    path()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn function_called_by_an_annotated_one_finds_its_lock_or_term_and_writes_under_it() {
    let (space, client) = Space::with_client().await;
    until_leads(&client, "/leader").await;
    let calls = async {
        settle(7).await.unwrap();
        assert_eq!(settled(7).unwrap().as_deref(), Some("/orders/7"));
        assert!(zklock::leader("/leader").unwrap().join().await.unwrap());
        assert!(sweep().await.unwrap().is_some());
        assert_eq!(swept().as_deref(), Some("/leader"));
        assert_eq!(path(), None);
    };
    zklock::scope(client, calls).await;
    let ledger = space.outsider().await.get_data(&space.full("/ledgers/9")).await.unwrap().0;
    assert_eq!(ledger, b"settled");
}

#[tokio::test]
async fn locks_that_are_taken_as_one_are_one_and_all_of_them_guard_its_writes() {
    let (space, client) = Space::with_client().await;
    let permits = client.semaphore("/permits", 3).unwrap().acquire_many(2).await.unwrap();
    permits
        .scope(async {
            let current = current().unwrap();
            assert_eq!(current.paths().collect::<Vec<_>>(), ["/permits", "/permits"]);
            assert_eq!(current.fencing_token(), permits.fencing_token());
        })
        .await;
    let both = client.multi([Member::read("/b"), Member::mutex("/a")]).unwrap().lock().await.unwrap();
    let inside = both.scope(async {
        let current = current().unwrap();
        assert_eq!((current.path(), current.paths().collect::<Vec<_>>()), ("/a", vec!["/a", "/b"]));
        assert_eq!(Some(current.fencing_token()), both.fencing_token("/a"));
        current.upsert("/data", "one").await.unwrap();
        assert!(current.is_held());
        space.delete_children("/b").await;
        let error = failed(current.upsert("/data", "two").await);
        assert!(matches!(&error, LockError::Lost { path, .. } if path == "/b"), "{error}");
        assert!(failed(current.get("/data").await).is_lost());
        assert!(failed(current.verify().await).is_lost());
        assert_eq!(soon(current.lost()).await, LossReason::NodeDeleted);
        assert!(!current.is_held());
    });
    inside.await;
    assert_eq!(space.outsider().await.get_data(&space.full("/data")).await.unwrap().0, b"one");
}

#[tokio::test]
async fn handle_that_is_kept_after_the_body_holds_nothing() {
    let (_, [client, other]) = Space::with_clients().await;
    let guard = client.mutex("/a").unwrap().lock().await.unwrap();
    let kept: Held = guard.scope(async { current().unwrap() }).await;
    assert!(kept.is_held(), "the guard still holds the lock");
    guard.release().await.unwrap();
    let next = soon(other.mutex("/a").unwrap().lock()).await.unwrap();
    assert!(!kept.is_held());
    for error in [
        failed(kept.upsert("/data", "late").await),
        failed(kept.create("/data", "late").await),
        failed(kept.get("/data").await),
        failed(kept.verify().await),
    ] {
        assert!(error.is_lost(), "{error}");
    }
    assert_eq!(next.get("/data").await.unwrap(), None);
    let (_latch, term) = lead(&client, "/leader").await;
    let kept = term.run(async { current().unwrap() }).await.unwrap();
    assert!(kept.is_held());
    term.resign();
    assert!(!kept.is_held());
    assert_eq!(soon(kept.lost()).await, LossReason::Resigned);
    assert!(failed(kept.upsert("/data", "late").await).is_lost());
}

#[tokio::test]
async fn a_task_inherits_what_its_call_holds_for_as_long_as_that_lasts() {
    let client = Space::new().client().await;
    let guard = client.mutex("/a").unwrap().lock().await.unwrap();
    let (_latch, term) = lead(&client, "/leader").await;
    let (ended, is_ended) = oneshot::channel();
    let ([heir], stranger) = guard
        .scope(async {
            let (begun, begins) = oneshot::channel();
            let heir = term.run(async {
                let heir = zklock::spawn(async move {
                    let inside = path();
                    begun.send(()).unwrap();
                    is_ended.await.unwrap();
                    (inside, path())
                });
                begins.await.unwrap();
                [heir]
            });
            (heir.await.unwrap(), tokio::spawn(async { path() }))
        })
        .await;
    assert_eq!(stranger.await.unwrap(), None);
    // The body of the term has ended, although the term lasts, and the lock is still held.
    ended.send(()).unwrap();
    let (inside, after) = soon(heir).await.unwrap();
    assert_eq!((inside.as_deref(), after.as_deref()), (Some("/leader"), Some("/a")));
    let late = guard.scope(async {
        let (go_on, goes_on) = oneshot::channel();
        (go_on, zklock::spawn(async { goes_on.await.map(|()| path()) }))
    });
    let (go_on, late) = late.await;
    guard.release().await.unwrap();
    go_on.send(()).unwrap();
    assert_eq!(soon(late).await.unwrap().unwrap(), None);
}

#[tokio::test]
async fn a_term_is_no_lock_to_be_entered_again() {
    let client = Space::new().client().await;
    let (_latch, term) = lead(&client, "/leader").await;
    // The candidate of a selector is the contender of a mutex.
    let tried = term.run(async { client.mutex("/free").unwrap().try_lock().await }).await.unwrap();
    assert_ne!(tried.unwrap().expect("nobody has it").fencing_token(), term.fencing_token());
    let own = term.run(async { client.mutex("/leader").unwrap().try_lock().await }).await.unwrap();
    assert!(!matches!(own, Ok(Some(_))), "{own:?}");
}

fn panic_of(assertion: impl FnOnce()) -> String {
    let panic = catch_unwind(AssertUnwindSafe(assertion)).expect_err("the assertion fails");
    *panic.downcast::<String>().expect("a message with a path")
}

#[tokio::test]
async fn assertions_tell_the_path_and_what_is_held_instead() {
    let (space, client) = Space::with_client().await;
    let order = client.mutex("/orders/7").unwrap().lock().await.unwrap();
    let both = client.multi(["/a", "/b"]).unwrap().lock().await.unwrap();
    let (_latch, term) = lead(&client, "/leader").await;
    let again = client.mutex("/orders/7").unwrap();
    zklock::assert_not_held!("/orders/7");
    let missing = panic_of(|| zklock::assert_held!("/orders/7"));
    assert_eq!(missing, "the current call does not hold /orders/7: it holds no lock");
    let inside = async {
        zklock::assert_held!("/orders/7");
        zklock::assert_held!(format!("/orders/{}", 7));
        zklock::assert_held!(String::from("/b"),);
        zklock::assert_held!("/leader");
        zklock::assert_not_held!("/orders/8");
        let _again = again.lock().await.unwrap();
        let missing = panic_of(|| zklock::assert_held!("/orders/8"));
        let all = "it holds /leader, /a, /b, /orders/7";
        assert_eq!(missing, format!("the current call does not hold /orders/8: {all}"));
        let held = panic_of(|| zklock::assert_not_held!("/a"));
        assert_eq!(held, format!("the current call holds /a: {all}"));
    };
    let inside = order.scope(async { both.scope(async { term.run(inside).await.unwrap() }).await });
    inside.await;
    let lost = order.scope(async {
        space.delete_children("/orders/7").await;
        until(async || current().is_some_and(|held| !held.is_held()), "the loss is known").await;
        zklock::assert_not_held!("/orders/7");
        panic_of(|| zklock::assert_held!("/orders/7"))
    });
    assert_eq!(
        lost.await,
        "the current call does not hold /orders/7 any more: lock /orders/7 was lost: its node was deleted by \
         somebody else"
    );
}

#[distributed_lock(path = "/invoices/{id}", wait = "20s", guard = held)]
fn render(id: u64) -> Result<FencingToken, LockError> {
    zklock::assert_held!(format!("/invoices/{id}"));
    Ok(held.fencing_token())
}

#[distributed_lock(path = "/invoices/{id}", guard = held)]
async fn send(id: u64) -> Result<(FencingToken, FencingToken), LockError> {
    let again = zklock::spawn_blocking(move || render(id)).await.expect("the thread goes on")?;
    Ok((held.fencing_token(), again))
}

#[tokio::test]
async fn blocking_work_of_a_call_uses_its_client_and_enters_its_locks_again() {
    let space = Space::new();
    let (outer, again) = soon(zklock::scope(space.client().await, send(7))).await.unwrap();
    assert_eq!(outer, again);
}

#[tokio::test]
async fn the_locks_of_the_scoped_client_are_those_of_the_client() {
    let space = Space::new();
    let (client, other): (Client, Client) = (space.client().await, space.client().await);
    let taken = async {
        let mutex = zklock::mutex("/a").unwrap().lock().await.unwrap();
        let writer = zklock::rwlock("/b").unwrap().write().await.unwrap();
        let permit = zklock::semaphore("/c", 1).unwrap().acquire().await.unwrap();
        let both = zklock::multi([Member::mutex("/d"), Member::exclusive("/e")]).unwrap();
        let both = both.lock().await.unwrap();
        let latch = zklock::election("/f").unwrap().latch();
        assert!(soon(latch.leadership()).await.is_ok());
        assert!(matches!(zklock::mutex("a"), Err(LockError::InvalidPath { .. })));
        (mutex, writer, permit, both, latch)
    };
    let _held = zklock::scope(client, taken).await;
    assert!(other.mutex("/a").unwrap().try_lock().await.unwrap().is_none());
    assert!(other.rwlock("/b").unwrap().try_read().await.unwrap().is_none());
    let permits = Permits::from(1);
    assert!(other.semaphore("/c", permits).unwrap().try_acquire().await.unwrap().is_none());
    assert!(other.multi(["/d"]).unwrap().try_lock().await.unwrap().is_none());
    assert!(other.exclusive("/e").unwrap().try_lock().await.unwrap().is_none());
    let rival = other.leader("/f").unwrap();
    assert!(!soon(rival.join()).await.unwrap());
}

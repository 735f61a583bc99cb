//! `path = [..]`: a call takes all of the locks or none.

use std::future::pending;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::sync::{Barrier, oneshot};
use tokio::task::{JoinSet, spawn_blocking};
use zklock::{Client, FencingToken, LockError, LossReason, MultiGuard, distributed_lock};

use super::{Room, Tracer};
use crate::support::{Space, failed, soon};

struct Bank {
    name: &'static str,
}

impl Bank {
    fn vault(&self) -> String {
        format!("/banks/{}", self.name)
    }

    #[distributed_lock(
        path = [self.vault(), "/accounts/{from}", "/accounts/{self.name}/{to.trim()}"],
        guard = held,
    )]
    async fn transfer(&self, from: u64, to: &str, space: &Space) -> Result<Vec<String>, LockError> {
        let all: &MultiGuard = held;
        for path in all.paths() {
            assert_eq!(space.children(path).await.len(), 1, "{path}");
            assert!(all.fencing_token(path).is_some(), "{path}");
        }
        all.create("/journal", "7 coins").await?;
        Ok(all.paths().map(str::to_owned).collect())
    }
}

#[tokio::test]
async fn each_element_is_a_template_or_an_expression() {
    let space = Space::new();
    let bank = Bank { name: "hay" };
    let paths = soon(zklock::scope(space.client().await, bank.transfer(7, " a/b ", &space))).await.unwrap();
    assert_eq!(paths, ["/accounts/7", "/accounts/hay/a%2Fb", "/banks/hay"]);
    for path in paths {
        space.until_empty(&path).await;
    }
    assert!(space.children("").await.contains(&"journal".to_owned()));
}

#[distributed_lock(path = ["/pair/a", "/pair/b"], wait = "60s")]
async fn there(room: Arc<Room>) -> Result<(), LockError> {
    room.visit().await;
    Ok(())
}

#[distributed_lock(path = ["/pair/b", "/pair/a"], wait = "60s")]
async fn back(room: Arc<Room>) -> Result<(), LockError> {
    room.visit().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn functions_that_name_the_same_paths_in_another_order_exclude_each_other_without_a_deadlock() {
    let space = Space::new();
    let (room, mut loops) = (Arc::new(Room::default()), JoinSet::new());
    for client in [space.client().await, space.client().await] {
        let (room, other) = (room.clone(), room.clone());
        loops.spawn(zklock::scope(client.clone(), async move {
            for _ in 0..10 {
                there(room.clone()).await?;
            }
            Ok::<(), LockError>(())
        }));
        loops.spawn(zklock::scope(client, async move {
            for _ in 0..10 {
                back(other.clone()).await?;
            }
            Ok(())
        }));
    }
    assert!(soon(loops.join_all()).await.iter().all(Result::is_ok));
    for path in ["/pair/a", "/pair/b"] {
        space.until_empty(path).await;
    }
}

#[distributed_lock(path = ["/few/a", "/few/b"], wait = "500ms")]
async fn hurried(_tracer: Tracer) -> Result<(), LockError> {
    panic!("the body never starts")
}

#[tokio::test]
async fn where_one_lock_is_not_to_be_had_none_is_kept() {
    let space = Space::new();
    let client = space.client().await;
    let rival = client.mutex("/few/b").unwrap().lock().await.unwrap();
    let error = failed(soon(zklock::scope(client.clone(), hurried(Tracer::default()))).await);
    assert!(error.is_contended(), "{error}");
    space.until_empty("/few/a").await;
    space.until_queued("/few/b", 1).await;
    rival.release().await.unwrap();
}

#[distributed_lock(path = ["/endless/a", "/endless/b"], wait = forever)]
async fn endless(_tracer: Tracer, started: oneshot::Sender<()>) -> Result<(), LockError> {
    started.send(()).expect("the test waits for the start");
    pending().await
}

#[tokio::test]
async fn dropping_a_call_that_waits_for_its_last_lock_leaves_all_queues() {
    let space = Space::new();
    let client = space.client().await;
    let rival = space.client().await.mutex("/endless/b").unwrap().lock().await.unwrap();
    let (start, mut started) = oneshot::channel();
    tokio::select! {
        result = zklock::scope(client, endless(Tracer::default(), start)) => panic!("it ended: {result:?}"),
        () = space.until_queued("/endless/b", 2) => {}
    }
    space.until_queued("/endless/b", 1).await;
    space.until_empty("/endless/a").await;
    assert_eq!(started.try_recv(), Err(oneshot::error::TryRecvError::Closed), "the body never started");
    rival.release().await.unwrap();
}

#[tokio::test]
async fn the_loss_of_any_lock_ends_the_body_and_frees_the_others() {
    let space = Space::new();
    let client = space.client().await;
    for lost in ["/endless/a", "/endless/b"] {
        let ((tracer, dropped), (start, started)) = (Tracer::new(), oneshot::channel());
        let mut call = pin!(zklock::scope(client.clone(), endless(tracer, start)));
        tokio::select! {
            result = call.as_mut() => panic!("an endless body ended: {result:?}"),
            () = async { soon(started).await.unwrap(); space.delete_children(lost).await } => {}
        }
        let error = failed(soon(call.as_mut()).await);
        let LockError::Lost { path, reason: LossReason::NodeDeleted, .. } = &error else { panic!("{error}") };
        assert_eq!(path, lost);
        assert!(dropped.load(Ordering::SeqCst));
        space.until_empty("/endless/a").await;
        space.until_empty("/endless/b").await;
    }
}

#[distributed_lock(path = "/nested/b", wait = "60s", guard = held)]
async fn one() -> Result<FencingToken, LockError> {
    Ok(held.fencing_token())
}

type Tokens = [Option<FencingToken>; 2];

#[distributed_lock(path = ["/nested/b", "/nested/a"], wait = "60s", guard = held)]
async fn both(inside: bool) -> Result<Tokens, LockError> {
    let tokens = [held.fencing_token("/nested/a"), held.fencing_token("/nested/b")];
    if inside {
        assert_eq!(Box::pin(both(false)).await?, tokens);
        assert_eq!(Some(one().await?), tokens[1]);
    }
    Ok(tokens)
}

#[distributed_lock(path = "/nested/b", guard = held)]
async fn both_inside_of_one(space: &Space) -> Result<(), LockError> {
    let tokens = both(true).await?;
    assert_eq!(tokens[1], Some(held.fencing_token()));
    // The inner call has released it.
    space.until_empty("/nested/a").await;
    assert_eq!(space.children("/nested/b").await.len(), 1, "the inner call has not");
    Ok(())
}

#[tokio::test]
async fn what_is_held_already_is_entered_and_the_rest_is_taken() {
    let space = Space::new();
    soon(zklock::scope(space.client().await, both_inside_of_one(&space))).await.unwrap();
    space.until_empty("/nested/b").await;
}

#[distributed_lock(path = ["/shelves/a", "/shelves/b"], mode = read, guard = held)]
async fn read_both(others: &Barrier) -> Result<Tokens, LockError> {
    others.wait().await;
    Ok([held.fencing_token("/shelves/a"), held.fencing_token("/shelves/b")])
}

#[tokio::test]
async fn readers_of_several_locks_run_together() {
    let space = Space::new();
    let (one, other) = (space.client().await, space.client().await);
    let others = Barrier::new(2);
    let calls = async {
        tokio::join!(zklock::scope(one, read_both(&others)), zklock::scope(other, read_both(&others)))
    };
    let (a, b) = soon(calls).await;
    assert_ne!(a.unwrap(), b.unwrap());
}

#[distributed_lock(path = ["/shelves/b", "/shelves/a"], mode = write, wait = "60s", guard = held)]
async fn write_both() -> Result<(), LockError> {
    let tokens = [held.fencing_token("/shelves/a"), held.fencing_token("/shelves/b")];
    assert_eq!(read_both(&Barrier::new(1)).await?, tokens, "a writer reads for free");
    Ok(())
}

#[distributed_lock(path = "/shelves/{shelf}", mode = read)]
async fn write_while_reading(shelf: &str, space: &Space) -> Result<LockError, LockError> {
    let error = failed(write_both().await);
    for (path, left) in [("/shelves/a", shelf == "a"), ("/shelves/b", shelf == "b")] {
        assert_eq!(space.children(path).await.len(), usize::from(left), "{path}");
    }
    Ok(error)
}

#[tokio::test]
async fn all_members_have_the_mode() {
    let space = Space::new();
    let client = space.client().await;
    soon(zklock::scope(client.clone(), write_both())).await.unwrap();
    for shelf in ["a", "b"] {
        let call = zklock::scope(client.clone(), write_while_reading(shelf, &space));
        let error = soon(call).await.unwrap();
        let LockError::Upgrade { path, .. } = &error else { panic!("{error}") };
        assert_eq!(*path, format!("/shelves/{shelf}"));
    }
}

#[distributed_lock(path = ["/values/{one}", other])]
async fn values(one: &str, other: &str) -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = ["/values/{one}", "/values/{other}"], client = "nobody")]
async fn without_a_client(one: &str, other: &str) -> Result<(), LockError> {
    Ok(())
}

#[tokio::test]
async fn bad_values_are_refused_before_anything_is_sent() {
    let space = Space::new();
    let client = space.client().await;
    let refused = async |one, other| failed(zklock::scope(client.clone(), values(one, other)).await);

    let error = refused("7", "/values/7").await;
    assert!(matches!(&error, LockError::InvalidGroup { .. }), "{error}");
    assert_eq!(error.to_string(), "cannot lock these paths together: /values/7 is named twice");
    let error = refused("", "/b").await;
    assert!(matches!(&error, LockError::InvalidPath { path, .. } if path == "/values/{one}"), "{error}");
    let error = refused("a", "/b/../c").await;
    assert!(matches!(&error, LockError::InvalidPath { path, .. } if path == "/b/../c"), "{error}");
    assert_eq!(space.children("").await, [""; 0]);
    zklock::scope(client, values("7", "/values/8")).await.unwrap();

    let error = failed(without_a_client("7", "8").await);
    let LockError::NotInstalled { name: Some(name), path: Some(path) } = &error else { panic!("{error}") };
    assert_eq!((name.as_str(), path.as_str()), ("nobody", "/values/7"));
}

#[distributed_lock(path = ["/stock", ..orders, ..&[format!("/carts/{cart}")]], no_wait, guard = held)]
async fn ship(orders: &[String], cart: u64) -> Result<Vec<String>, LockError> {
    Ok(held.paths().map(str::to_owned).collect())
}

#[distributed_lock(path = [..orders.iter().map(|order| format!("/orders/{order}"))], client = client)]
fn pack(client: &Client, orders: &[u64]) -> Result<usize, LockError> {
    Ok(orders.len())
}

#[tokio::test]
async fn lists_that_are_known_when_the_function_is_called_are_spread() {
    let space = Space::new();
    let client = space.client().await;
    let orders = ["/orders/9", "/orders/10"].map(str::to_owned);
    let shipped = soon(zklock::scope(client.clone(), ship(&orders, 7))).await.unwrap();
    assert_eq!(shipped, ["/carts/7", "/orders/10", "/orders/9", "/stock"]);
    let held = space.client().await.mutex("/orders/10").unwrap().lock().await.unwrap();
    assert!(failed(soon(zklock::scope(client.clone(), ship(&orders, 7))).await).is_contended());
    assert_eq!(soon(zklock::scope(client.clone(), ship(&[], 7))).await.unwrap(), ["/carts/7", "/stock"]);
    held.release().await.unwrap();
    let packed = spawn_blocking(move || (pack(&client, &[9, 10]), pack(&client, &[])));
    let (packed, empty) = soon(packed).await.unwrap();
    assert_eq!(packed.unwrap(), 2);
    assert!(matches!(failed(empty), LockError::InvalidGroup { .. }));
}

#[tokio::test]
async fn a_list_with_a_path_twice_or_in_braces_is_refused() {
    let space = Space::new();
    let client = space.client().await;
    let twice = ["/orders/9", "/orders/9"].map(str::to_owned);
    let error = failed(soon(zklock::scope(client.clone(), ship(&twice, 7))).await);
    assert!(matches!(error, LockError::InvalidGroup { .. }), "{error}");
    let braces = ["/orders/{order}".to_owned()];
    let error = failed(soon(zklock::scope(client, ship(&braces, 7))).await);
    assert!(matches!(&error, LockError::InvalidPath { path, .. } if *path == braces[0]), "{error}");
    assert_eq!(space.children("").await, [""; 0]);
}

//! `path = [..]`: a call takes all of the locks or none.

use tokio::sync::Barrier;
use tokio::task::spawn_blocking;
use zklock::{Client, FencingToken, LockError, MultiGuard, distributed_lock};

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

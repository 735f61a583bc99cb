//! Path templates and the nodes that they name. Of several paths, a call takes all of the locks or none.

use std::cell::Cell;
use std::fmt;

use tokio::task::spawn_blocking;
use zklock::{Client, LockError, MultiGuard, distributed_lock};

use crate::support::{Space, failed, soon};

struct Order<'a> {
    shop: &'a str,
    id: u64,
}

impl Order<'_> {
    const KIND: &'static str = "orders";

    fn key(&self) -> String {
        format!("no. {}", self.id)
    }

    #[distributed_lock(path = "/{Self::KIND}/{self.shop}/{self.key()}-{{x}}/lock")]
    async fn queue(&self, space: &Space) -> Result<usize, LockError> {
        Ok(space.children("/orders/hay/no.%207-{x}/lock").await.len())
    }
}

#[tokio::test]
async fn constants_fields_and_calls_become_segments() {
    let (space, client) = Space::with_client().await;
    let order = Order { shop: "hay", id: 7 };
    assert_eq!(zklock::scope(client, order.queue(&space)).await.unwrap(), 1);
}

#[distributed_lock(path = "/values/{value}")]
async fn locked_values(value: impl fmt::Display, space: &Space) -> Result<Vec<String>, LockError> {
    Ok(space.children("/values").await)
}

#[distributed_lock(path = path)]
async fn computed(path: String) -> Result<(), LockError> {
    Ok(())
}

const TEMPLATE: &str = "/orders/{id}";

#[distributed_lock(path = TEMPLATE)]
async fn constant(id: u64) -> Result<u64, LockError> {
    Ok(id)
}

#[distributed_lock(path = [TEMPLATE, "/other"])]
async fn constant_in_array(id: u64) -> Result<u64, LockError> {
    Ok(id)
}

#[tokio::test]
async fn a_computed_path_with_text_in_braces_is_refused_before_anything_is_sent() {
    let (space, client) = Space::with_client().await;
    let one = failed(zklock::scope(client.clone(), constant(7)).await);
    let expected = "invalid path \"/orders/{id}\": `{id}` is replaced only in a path that is a string literal in the \
                    attribute";
    assert_eq!(one.to_string(), expected);
    let several = failed(zklock::scope(client.clone(), constant_in_array(7)).await);
    assert_eq!(several.to_string(), expected);
    assert_eq!(space.children("").await, [""; 0]);
    // Single braces are text.
    zklock::scope(client, computed("/odd}{".to_owned())).await.unwrap();
}

struct Counted<'a>(&'a Cell<u32>);

impl fmt::Display for Counted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.set(self.0.get() + 1);
        write!(f, "{}", self.0.get())
    }
}

#[tokio::test]
async fn a_value_is_formatted_once_and_when_the_future_is_first_polled() {
    let (space, client) = Space::with_client().await;
    let times = Cell::new(0);
    let call = locked_values(Counted(&times), &space);
    assert_eq!(times.get(), 0);
    assert_eq!(zklock::scope(client, call).await.unwrap(), ["1"]);
    assert_eq!(times.get(), 1);
}

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
    let (space, client) = Space::with_client().await;
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
    let (space, client) = Space::with_client().await;
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

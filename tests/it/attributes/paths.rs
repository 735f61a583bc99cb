//! Path templates and the nodes that they name.

use std::cell::Cell;
use std::fmt;

use zklock::{LockError, distributed_lock};

use crate::support::{Space, failed};

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

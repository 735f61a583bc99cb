use zklock::{LockError, distributed_lock, leader_only};

struct Order {
    shop: u64,
}

impl Order {
    fn number(&self) -> u64 {
        7
    }
}

#[distributed_lock(path = "/orders/{0}")]
async fn braces_constant(id: u64) -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/orders/{}")]
async fn braces_empty(id: u64) -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/orders/{id:?}")]
async fn braces_format_spec(id: u64) -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/orders/{id +}")]
async fn braces_not_an_expression(id: u64) -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/orders/{order}")]
async fn braces_not_display(order: Order) -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/orders/{shop}-{id}")]
async fn braces_two_expressions_in_a_segment(shop: u64, id: u64) -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/orders/{id")]
async fn braces_unbalanced(id: u64) -> Result<(), LockError> {
    Ok(())
}

async fn next() -> u64 {
    7
}

#[distributed_lock(path = "/orders/{next().await}")]
fn braces_await_not_async() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/orders/id}")]
async fn braces_closing_only(id: u64) -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/orders/{:?}")]
async fn braces_empty_debug(id: u64) -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/orders/{ordr}")]
async fn braces_misspelled_argument(order: u64) -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/orders/{ordr.shop.id}")]
async fn braces_misspelled_argument_of_a_field(order: Order) -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = ["/orders", "/orders/{ordr.id()}"])]
async fn braces_misspelled_argument_of_a_method(order: Order) -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/orders/{frist}")]
async fn braces_misspelled_binding((first, _): (u64, u64)) -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/orders/{id}")]
async fn braces_not_display_option(id: Option<u64>) -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/orders/{drop(id)}")]
async fn braces_not_display_unit(id: u64) -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/orders/{self.id}")]
async fn braces_self_in_a_function(id: u64) -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/orders/{let id = 7}")]
async fn braces_statement() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/orders/{\"seven\"}")]
async fn braces_string() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/orders/{order.shp}")]
async fn braces_unknown_field(order: &Order) -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/orders/{order.numbr()}")]
async fn braces_unknown_method(order: &Order) -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/orders/{id:08}")]
async fn braces_width(id: u64) -> Result<(), LockError> {
    Ok(())
}

#[leader_only(path = "/leaders/{regoin}")]
async fn leader_braces_misspelled_argument(region: &str) {}

fn main() {}

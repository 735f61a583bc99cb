use zklock::{LockError, distributed_lock};

struct Order;

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

fn main() {}

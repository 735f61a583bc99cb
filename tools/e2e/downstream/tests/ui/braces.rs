use zklock::{LockError, distributed_lock};

struct Order {
    shop: u64,
}

impl Order {
    fn number(&self) -> u64 {
        7
    }
}

#[distributed_lock(path = "/orders/{id +}")]
async fn braces_not_an_expression(id: u64) -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/orders/{order}")]
async fn braces_not_display(order: Order) -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/orders/{id}")]
async fn braces_not_display_option(id: Option<u64>) -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/orders/{let id = 7}")]
async fn braces_statement() -> Result<(), LockError> {
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

fn main() {}

use zklock::{LockError, distributed_lock};

struct Order;

#[distributed_lock(path = "/orders/{order}")]
async fn settle(order: Order) -> Result<(), LockError> {
    Ok(())
}

fn main() {}

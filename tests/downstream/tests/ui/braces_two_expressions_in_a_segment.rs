use zklock::{LockError, distributed_lock};

#[distributed_lock(path = "/orders/{shop}-{id}")]
async fn settle(shop: u64, id: u64) -> Result<(), LockError> {
    Ok(())
}

fn main() {}

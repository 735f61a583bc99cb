use zklock::{LockError, distributed_lock};

#[distributed_lock(path = "/orders", client = pool)]
async fn settle(pool: &str) -> Result<(), LockError> {
    Ok(())
}

fn main() {}

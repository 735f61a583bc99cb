use zklock::{LockError, distributed_lock};

#[distributed_lock(path = "/orders", wait = patience)]
async fn settle(patience: u64) -> Result<(), LockError> {
    Ok(())
}

fn main() {}

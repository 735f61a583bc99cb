use zklock::{LockError, distributed_lock};

#[distributed_lock(path = "/orders", wait = 5)]
async fn settle() -> Result<(), LockError> {
    Ok(())
}

fn main() {}

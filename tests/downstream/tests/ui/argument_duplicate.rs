use zklock::{LockError, distributed_lock};

#[distributed_lock(path = "/orders", path = "/jobs")]
async fn settle() -> Result<(), LockError> {
    Ok(())
}

fn main() {}

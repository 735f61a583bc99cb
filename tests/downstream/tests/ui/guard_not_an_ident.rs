use zklock::{LockError, distributed_lock};

#[distributed_lock(path = "/orders", guard = "held")]
async fn settle() -> Result<(), LockError> {
    Ok(())
}

fn main() {}

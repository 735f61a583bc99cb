use zklock::{LockError, distributed_lock};

#[distributed_lock(path = "/orders", crate = "not a path")]
async fn settle() -> Result<(), LockError> {
    Ok(())
}

fn main() {}

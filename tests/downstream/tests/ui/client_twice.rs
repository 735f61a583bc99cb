use zklock::{LockError, distributed_lock};

#[distributed_lock(path = "/orders", client = "a", client = "b")]
async fn settle() -> Result<(), LockError> {
    Ok(())
}

fn main() {}

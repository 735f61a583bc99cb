use zklock::{LockError, distributed_lock};

#[distributed_lock(path = "/orders", waits = "5s")]
async fn settle() -> Result<(), LockError> {
    Ok(())
}

fn main() {}

use zklock::{LockError, distributed_lock};

#[distributed_lock(path = "/orders", wait = "0s")]
async fn settle() -> Result<(), LockError> {
    Ok(())
}

fn main() {}

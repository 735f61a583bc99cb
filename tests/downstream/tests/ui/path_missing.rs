use zklock::{LockError, distributed_lock};

#[distributed_lock(wait = "5s")]
async fn settle() -> Result<(), LockError> {
    Ok(())
}

fn main() {}

use zklock::{LockError, distributed_lock};

#[distributed_lock(path = "/orders")]
async fn settle() -> Result<u64, LockError> {
    "seven"
}

#[distributed_lock(path = "/orders")]
async fn forget() -> Result<u64, LockError> {
    Ok(7);
}

fn main() {}

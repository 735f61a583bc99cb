use zklock::{LockError, distributed_lock};

async fn receipt() -> u64 {
    7
}

#[distributed_lock(path = "/orders")]
fn settle() -> Result<u64, LockError> {
    Ok(receipt().await)
}

fn main() {}

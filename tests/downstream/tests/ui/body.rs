use zklock::{LockError, distributed_lock};

async fn receipt() -> u64 {
    7
}

#[distributed_lock(path = "/orders")]
fn body_awaits_not_async() -> Result<u64, LockError> {
    Ok(receipt().await)
}

#[distributed_lock(path = "/orders")]
fn body_not_async_of_another_type() -> Result<u64, LockError> {
    Ok("seven")
}

#[distributed_lock(path = "/orders")]
async fn body_of_another_type() -> Result<u64, LockError> {
    "seven"
}

#[distributed_lock(path = "/orders")]
async fn body_without_its_value() -> Result<u64, LockError> {
    Ok(7);
}

fn main() {}

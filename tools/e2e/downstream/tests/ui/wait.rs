use zklock::{LockError, distributed_lock};

#[distributed_lock(path = "/orders", wait = 5)]
async fn wait_integer() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/orders", wait = patience)]
async fn wait_not_a_duration(patience: u64) -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/orders", wait = "0s")]
async fn wait_zero() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/orders", wait = "")]
async fn wait_empty() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/orders", wait = "forever")]
async fn wait_forever_quoted() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/orders", wait = "5")]
async fn wait_without_unit() -> Result<(), LockError> {
    Ok(())
}

fn main() {}

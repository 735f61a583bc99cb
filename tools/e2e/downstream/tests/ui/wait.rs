use zklock::{LockError, distributed_lock};

#[distributed_lock(path = "/orders", wait = 5)]
async fn wait_integer() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/orders", wait = patience)]
async fn wait_not_a_duration(patience: u64) -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/orders", wait = "5")]
async fn wait_without_unit() -> Result<(), LockError> {
    Ok(())
}

fn main() {}

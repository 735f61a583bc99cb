use zklock::{LockError, distributed_lock};

#[tokio::main]
#[distributed_lock(path = "/orders")]
async fn main() -> Result<(), LockError> {
    Ok(())
}

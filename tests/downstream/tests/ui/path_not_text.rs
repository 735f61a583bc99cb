use zklock::{LockError, distributed_lock};

#[distributed_lock(path = id)]
async fn settle(id: u64) -> Result<(), LockError> {
    Ok(())
}

fn main() {}

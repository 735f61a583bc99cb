use zklock::{LockError, distributed_lock};

#[distributed_lock(path = "/a", mode = shared)]
async fn settle() -> Result<(), LockError> {
    Ok(())
}

fn main() {}

use zklock::{LockError, distributed_lock};

#[distributed_lock(path)]
async fn settle() -> Result<(), LockError> {
    Ok(())
}

fn main() {}

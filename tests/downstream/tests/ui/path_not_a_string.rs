use zklock::{LockError, distributed_lock};

#[distributed_lock(path = 7)]
async fn settle() -> Result<(), LockError> {
    Ok(())
}

fn main() {}

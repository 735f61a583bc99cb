use zklock::{LockError, distributed_lock};

#[distributed_lock(path = &["/a", "/b"])]
async fn settle() -> Result<(), LockError> {
    Ok(())
}

fn main() {}

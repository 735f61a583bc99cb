use zklock::{LockError, distributed_lock};

#[distributed_lock(path = ["/a"; 2])]
async fn settle() -> Result<(), LockError> {
    Ok(())
}

fn main() {}

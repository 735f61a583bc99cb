use zklock::{LockError, distributed_lock};

#[distributed_lock(path = ["/a", id])]
async fn settle(id: u64) -> Result<(), LockError> {
    Ok(())
}

fn main() {}

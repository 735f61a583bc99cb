use zklock::{LockError, distributed_lock};

#[distributed_lock(path = ["/a", "/b/{id}", "/a", "/b/{id}"])]
async fn settle(id: u64) -> Result<(), LockError> {
    Ok(())
}

fn main() {}

use zklock::{LockError, distributed_lock};

#[distributed_lock(path = ["/a", 7, "b"], mode = exclusive)]
async fn settle() -> Result<(), LockError> {
    Ok(())
}

fn main() {}

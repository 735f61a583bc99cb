use zklock::{LockError, distributed_lock};

#[distributed_lock(path = ["/a", ["/b", "/c"]])]
async fn settle() -> Result<(), LockError> {
    Ok(())
}

fn main() {}

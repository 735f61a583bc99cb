use zklock::{LockError, distributed_lock};

#[distributed_lock(path = "/a", mode = read, mode = write)]
async fn settle() -> Result<(), LockError> {
    Ok(())
}

fn main() {}

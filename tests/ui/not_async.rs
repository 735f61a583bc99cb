use zklock::{LockError, distributed_lock};

#[distributed_lock(path = "/orders")]
fn settle() -> Result<(), LockError> {
    Ok(())
}

fn main() {}

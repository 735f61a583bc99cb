use zklock::{LockError, distributed_lock};

#[distributed_lock(path = "/orders")]
const fn settle() -> Result<(), LockError> {
    Ok(())
}

fn main() {}

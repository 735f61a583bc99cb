use zklock::{LockError, distributed_lock};

#[distributed_lock(path = "/orders")]
async extern "C" fn settle() -> Result<(), LockError> {
    Ok(())
}

fn main() {}

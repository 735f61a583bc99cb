use zklock::{LockError, distributed_lock};

#[distributed_lock(path = "/orders")]
fn settle() -> Result<u64, LockError> {
    Ok("seven")
}

fn main() {}

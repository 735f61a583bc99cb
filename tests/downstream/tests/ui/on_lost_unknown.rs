use zklock::{LockError, distributed_lock};

#[distributed_lock(path = "/orders", on_lost = cancelled)]
async fn settle() -> Result<(), LockError> {
    Ok(())
}

fn main() {}

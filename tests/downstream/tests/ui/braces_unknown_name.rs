use zklock::{LockError, distributed_lock};

#[distributed_lock(path = "/orders/{ident}")]
async fn settle(id: u64) -> Result<(), LockError> {
    Ok(())
}

fn main() {}

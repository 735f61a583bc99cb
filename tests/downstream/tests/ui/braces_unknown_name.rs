use zklock::{LockError, distributed_lock};

#[distributed_lock(path = "/orders/{ident}")]
async fn braces_unknown_name(id: u64) -> Result<(), LockError> {
    Ok(())
}

fn main() {}

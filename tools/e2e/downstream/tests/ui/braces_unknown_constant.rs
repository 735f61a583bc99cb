use zklock::{LockError, distributed_lock};

#[distributed_lock(path = "/orders/{SHOP}")]
async fn braces_unknown_constant(shop: u64) -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/orders/{key(id)}")]
async fn braces_unknown_function(id: u64) -> Result<(), LockError> {
    Ok(())
}

fn main() {}

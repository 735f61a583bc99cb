use zklock::{LockError, distributed_lock};

#[distributed_lock(path = "/orders", waits = "5s")]
async fn argument_unknown() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/orders", client = pool)]
async fn client_of_another_type(pool: &str) -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/orders", on_lost = cancel)]
fn on_lost_cancel_not_async() -> Result<(), LockError> {
    Ok(())
}

fn main() {}

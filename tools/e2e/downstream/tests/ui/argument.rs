use zklock::{LockError, distributed_lock};

#[distributed_lock(path = "/orders", waits = "5s", lease = "10s", read, colour = "red")]
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

#[distributed_lock(path = "/orders", wait = patience)]
async fn wait_of_another_type(patience: u64) -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/a", permits = wanted, of = 5)]
async fn permits_of_another_type(wanted: i64) -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/a", of = number)]
async fn permits_of_a_number_of_another_type(number: &str) -> Result<(), LockError> {
    Ok(())
}

fn main() {}

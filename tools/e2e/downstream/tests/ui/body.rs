use zklock::{LockError, distributed_lock};

async fn receipt() -> u64 {
    7
}

#[distributed_lock(path = "/orders")]
fn body_awaits_not_async() -> Result<u64, LockError> {
    Ok(receipt().await)
}

#[distributed_lock(path = "/orders")]
fn body_not_async_of_another_type() -> Result<u64, LockError> {
    Ok("seven")
}

#[distributed_lock(path = "/orders")]
async fn body_of_another_type() -> Result<u64, LockError> {
    "seven"
}

#[distributed_lock(path = "/orders")]
async fn body_without_its_value() -> Result<u64, LockError> {
    Ok(7);
}

#[distributed_lock(path = "/orders")]
async fn body_breaks_out_of_nothing() -> Result<(), LockError> {
    break Ok(());
}

#[distributed_lock(path = "/orders")]
async fn body_converts_an_error_without_from(text: &str) -> Result<u64, LockError> {
    Ok(text.parse::<u64>()?)
}

#[distributed_lock(path = "/orders")]
async fn body_has_no_value() -> Result<u64, LockError> {}

#[distributed_lock(path = "/orders")]
async fn body_returns_another_type() -> Result<u64, LockError> {
    return Ok("seven");
}

#[distributed_lock(path = "/orders", guard = held)]
async fn guard_without_that_method() -> Result<(), LockError> {
    held.downgrade().await;
    Ok(())
}

#[distributed_lock(path = ["/a", "/b"], guard = held)]
async fn guard_of_several_has_no_single_token() -> Result<(), LockError> {
    held.fencing_token();
    Ok(())
}

fn main() {}

use zklock::{LockError, distributed_lock, leader_only};

#[leader_only(on_lost = cancel)]
fn leader_on_lost_cancel_not_async() {}

#[distributed_lock(path = "/orders", on_lost = cancel)]
fn on_lost_cancel_not_async() -> Result<(), LockError> {
    Ok(())
}

#[leader_only(on_lost = "finish")]
async fn on_lost_quoted() {}

#[distributed_lock(path = "/orders", on_lost = cancelled)]
async fn on_lost_unknown() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/orders", on_lost = drop)]
async fn on_lost_another_word() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/orders", on_lost = true)]
async fn on_lost_bool() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/orders", on_lost = finnish)]
async fn on_lost_misspelled() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/orders", on_lost = finish, on_lost = cancel)]
async fn on_lost_twice() -> Result<(), LockError> {
    Ok(())
}

fn main() {}

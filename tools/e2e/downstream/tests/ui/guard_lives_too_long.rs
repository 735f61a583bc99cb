use zklock::{Leadership, LockError, MutexGuard, distributed_lock, leader_only};

#[distributed_lock(path = "/orders", guard = held)]
async fn guard_moved_into_a_task() -> Result<(), LockError> {
    tokio::spawn(async move { held.verify().await });
    Ok(())
}

#[distributed_lock(path = "/orders", guard = held)]
async fn guard_released() -> Result<(), LockError> {
    held.release().await
}

#[distributed_lock(path = "/orders", guard = held)]
async fn guard_returned() -> Result<&'static MutexGuard, LockError> {
    Ok(held)
}

#[leader_only(guard = term)]
async fn term_moved_into_a_task() {
    tokio::spawn(async move { term.verify().await });
}

#[leader_only(guard = term, otherwise = error)]
async fn term_returned() -> Result<&'static Leadership, LockError> {
    Ok(term)
}

fn main() {}

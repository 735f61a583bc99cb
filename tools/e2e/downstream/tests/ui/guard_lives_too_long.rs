use std::sync::mpsc::Sender;

use zklock::{Leadership, LockError, MutexGuard, distributed_lock, leader_only};

#[distributed_lock(path = "/orders", guard = held)]
async fn guard_moved_into_a_task() -> Result<(), LockError> {
    tokio::spawn(async move { held.verify().await });
    Ok(())
}

#[distributed_lock(path = "/orders", guard = held)]
async fn guard_moved_into_a_task_of_zklock() -> Result<(), LockError> {
    zklock::spawn(async move { held.verify().await });
    Ok(())
}

#[distributed_lock(path = "/orders", guard = held)]
fn guard_moved_into_a_thread() -> Result<(), LockError> {
    std::thread::spawn(move || held.is_held());
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

#[distributed_lock(path = "/orders", guard = held)]
fn guard_sent(to: Sender<&'static MutexGuard>) -> Result<(), LockError> {
    drop(to.send(held));
    Ok(())
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

use zklock::{LockError, distributed_lock, leader_only};

#[distributed_lock(path = "/invoices", once_per = 15)]
async fn once_per_integer() -> Result<(), LockError> {
    Ok(())
}

#[leader_only(once_per = minutes)]
async fn once_per_of_another_type(minutes: u64) {}

#[distributed_lock(path = "/invoices", once_per = "15m")]
async fn once_per_returns_no_value_to_skip() -> Result<u64, LockError> {
    Ok(7)
}

#[leader_only(otherwise = error, once_per = "15m")]
async fn leader_once_per_returns_no_value_to_skip() -> Result<u64, LockError> {
    Ok(7)
}

#[leader_only(once_per = "0s")]
async fn once_per_zero() {}

#[distributed_lock(path = ["/a", "/b"], once_per = "15m", tick = ["/ticks/a", "/ticks/b"])]
async fn tick_several() -> Result<(), LockError> {
    Ok(())
}

#[leader_only(tick = "/ticks/sweep")]
async fn tick_without_once_per() {}

fn main() {}

use zklock::{LockError, distributed_lock, leader_only};

#[distributed_lock(path = "/invoices", once_per = "15m")]
async fn send() -> Result<u64, LockError> {
    Ok(7)
}

#[leader_only(otherwise = error, once_per = "15m")]
async fn count() -> Result<u64, LockError> {
    Ok(7)
}

fn main() {}

use zklock::{LockError, distributed_lock, leader_only};

#[leader_only(once_per = minutes)]
async fn once_per_of_another_type(minutes: u64) {}

#[distributed_lock(path = "/invoices", once_per = "15m")]
async fn once_per_returns_no_value_to_skip() -> Result<u64, LockError> {
    Ok(7)
}

#[leader_only(once_per = "hourly")]
async fn once_per_not_a_duration() {}

#[leader_only(once_per = "15m", tick = node)]
async fn tick_not_text(node: u64) {}

fn main() {}

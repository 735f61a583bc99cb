use zklock::{LockError, leader_only};

async fn elsewhere() -> Result<u64, LockError> {
    Ok(7)
}

#[leader_only(otherwise = elsewhere().await)]
fn leader_otherwise_awaits_not_async() -> Result<u64, LockError> {
    Ok(8)
}

#[leader_only(otherwise = 0)]
async fn leader_otherwise_of_another_type() -> Option<u64> {
    Some(7)
}

fn main() {}

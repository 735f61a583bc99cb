use zklock::{LockError, leader_only};

async fn elsewhere() -> Result<u64, LockError> {
    Ok(7)
}

#[leader_only(otherwise = elsewhere().await)]
fn sweep() -> Result<u64, LockError> {
    Ok(8)
}

fn main() {}

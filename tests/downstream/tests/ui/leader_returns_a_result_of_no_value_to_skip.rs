use zklock::{LockError, leader_only};

#[leader_only]
async fn sweep() -> Result<u64, LockError> {
    Ok(7)
}

fn main() {}

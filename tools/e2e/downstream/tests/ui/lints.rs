#![deny(dead_code, unreachable_pub, unused_mut, unused_variables)]

use zklock::{LockError, distributed_lock, leader_only};

#[distributed_lock(path = "/orders")]
async fn lints_dead_code() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/orders")]
fn lints_dead_code_not_async() -> Result<(), LockError> {
    Ok(())
}

mod lints_unreachable_pub {
    #[zklock::distributed_lock(path = "/orders")]
    pub async fn settle() -> Result<(), zklock::LockError> {
        Ok(())
    }
}

#[distributed_lock(path = "/orders/{shop}")]
pub async fn lints_unused_argument(shop: u64, order: u64) -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/orders/{shop}")]
pub fn lints_unused_part_of_an_argument((shop, order): (u64, u64)) -> Result<(), LockError> {
    Ok(())
}

#[leader_only]
pub async fn lints_unused_mut(mut order: String) {
    drop(order);
}

fn main() {
    drop(lints_unreachable_pub::settle());
}

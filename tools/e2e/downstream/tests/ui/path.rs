use zklock::{LockError, distributed_lock, leader_only};

#[distributed_lock(path = 7)]
async fn path_not_a_string() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = id)]
async fn path_not_text(id: u64) -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "orders/{id}")]
async fn path_relative(id: u64) -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = /orders/{id}, wait = "0s")]
async fn path_unquoted_with_a_wait(id: u64) -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = [..order])]
async fn spread_of_one(order: u64) -> Result<(), LockError> {
    Ok(())
}

#[leader_only(path = [..orders])]
async fn spread_of_an_election(orders: &[String]) {}

fn main() {}

use zklock::{LockError, distributed_lock, leader_only};

#[distributed_lock(path = ..orders)]
async fn spread_without_an_array(orders: &[String]) -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = [..=orders])]
async fn spread_with_an_end(orders: &[String]) -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = [..orders])]
async fn spread_of_numbers(orders: &[u64]) -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = [..order])]
async fn spread_of_one(order: u64) -> Result<(), LockError> {
    Ok(())
}

#[leader_only(path = [..orders])]
async fn spread_of_an_election(orders: &[String]) {}

#[leader_only(otherwise = skip, wait = "5s")]
async fn wait_of_a_call_that_does_not_wait() {}

#[distributed_lock(path = orders)]
async fn list_without_a_spread(orders: Vec<String>) -> Result<(), LockError> {
    Ok(())
}

fn main() {}

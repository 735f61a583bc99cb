use zklock::{LockError, distributed_lock, leader_only};

#[distributed_lock(path = "/a", skip)]
async fn skip_without_an_empty_value() -> Result<u64, LockError> {
    Ok(7)
}

#[distributed_lock(path = "/a", skip)]
async fn skip_without_a_value_for_failures() -> u64 {
    7
}

#[distributed_lock(path = "/a", otherwise = 7)]
async fn otherwise_of_another_type() -> Result<u64, LockError> {
    Ok(7)
}

#[distributed_lock(path = "/a", otherwise = |error| error.is_contended())]
async fn otherwise_of_a_closure_of_another_type() -> Result<u64, LockError> {
    Ok(7)
}

#[distributed_lock(path = "/a", otherwise = 0)]
async fn otherwise_without_a_place_for_errors() -> u64 {
    7
}

#[leader_only(otherwise = 0)]
async fn leader_otherwise_of_another_type() -> Option<u64> {
    Some(7)
}

fn main() {}

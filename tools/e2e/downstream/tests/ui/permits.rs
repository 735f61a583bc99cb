use zklock::{LockError, distributed_lock};

#[distributed_lock(path = "/a", permits = wanted, of = 5)]
async fn permits_of_another_type(wanted: i64) -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/a", of = number)]
async fn permits_of_a_number_of_another_type(number: &str) -> Result<(), LockError> {
    Ok(())
}

fn main() {}

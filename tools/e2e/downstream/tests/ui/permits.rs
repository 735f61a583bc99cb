use zklock::{LockError, distributed_lock};

#[distributed_lock(path = "/a", permits = 2)]
async fn permits_without_their_number() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/a", permits = 0, of = 5)]
async fn permits_none() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/a", permits = 6, of = 5)]
async fn permits_more_than_there_are() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/a", of = "5")]
async fn permits_quoted() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/a", of = 5, mode = read)]
async fn permits_with_a_mode() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = ["/a", "/b"], of = 5)]
async fn permits_of_several() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/a", permits = wanted, of = 5)]
async fn permits_of_another_type(wanted: i64) -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/a", of = number)]
async fn permits_of_a_number_of_another_type(number: &str) -> Result<(), LockError> {
    Ok(())
}

fn main() {}

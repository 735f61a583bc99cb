use zklock::{LockError, distributed_lock};

#[distributed_lock(path = "/a", mode = "read")]
async fn mode_quoted() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/a", mode = read, mode = write)]
async fn mode_twice() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/a", mode = shared)]
async fn mode_unknown() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/a", mode)]
async fn mode_without_value() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/a", mode = reed)]
async fn mode_misspelled() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/a", mode = Mode::Read)]
async fn mode_of_a_type() -> Result<(), LockError> {
    Ok(())
}

fn main() {}

use zklock::{LockError, distributed_lock};

#[distributed_lock(path = "/orders", path = "/jobs")]
async fn argument_duplicate() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock("/orders")]
async fn argument_positional() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/orders", waits = "5s")]
async fn argument_unknown() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path)]
async fn argument_without_value() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/orders", client = pool)]
async fn client_of_another_type(pool: &str) -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/orders", client = "a", client = "b")]
async fn client_twice() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/orders", crate = "not a path")]
async fn crate_not_a_path() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/orders", guard = "held")]
async fn guard_not_an_ident() -> Result<(), LockError> {
    Ok(())
}

fn main() {}

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

#[distributed_lock(pth = "/orders")]
async fn argument_misspelled() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path: "/orders")]
async fn argument_with_a_colon() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path("/orders"))]
async fn argument_with_parentheses() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/orders", wait = )]
async fn argument_with_an_empty_value() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/orders" wait = "5s")]
async fn argument_without_its_comma() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/orders", client = "")]
async fn client_without_a_name() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/orders", crate = 7)]
async fn crate_number() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/orders", guard = held.token)]
async fn guard_field() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/orders", guard = self)]
async fn guard_self() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/orders", guard = held, guard = again)]
async fn guard_twice() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/orders", guard = _)]
async fn guard_underscore() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/orders", wait = "1s", wait = "2s")]
async fn wait_twice() -> Result<(), LockError> {
    Ok(())
}

fn main() {}

use zklock::{LockError, distributed_lock};

#[distributed_lock(path = concat!("/orders/", "{id}"))]
async fn path_concatenated(id: u64) -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/orders\n/{id}")]
async fn path_control_character(id: u64) -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/orders/../jobs")]
async fn path_dot_dot() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/orders//{id}")]
async fn path_double_slash(id: u64) -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "")]
async fn path_empty() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(wait = "5s")]
async fn path_missing() -> Result<(), LockError> {
    Ok(())
}

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

#[distributed_lock(path = "/")]
async fn path_root() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/orders/")]
async fn path_trailing_slash() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = true)]
async fn path_bool() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = b"/orders")]
async fn path_byte_string() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = '/')]
async fn path_char() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/orders/./jobs")]
async fn path_dot() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/orders/😀")]
async fn path_emoji() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = name)]
async fn path_option(name: Option<String>) -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/orders/\u{e000}")]
async fn path_private_use() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "{id}/orders")]
async fn path_relative_template(id: u64) -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/orders/{id}/")]
async fn path_trailing_slash_behind_braces(id: u64) -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = /orders/{id})]
async fn path_unquoted(id: u64) -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = /orders/{id}, wait = "0s")]
async fn path_unquoted_with_a_wait(id: u64) -> Result<(), LockError> {
    Ok(())
}

fn main() {}

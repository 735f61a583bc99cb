use zklock::{LockError, distributed_lock};

#[distributed_lock(path = ["/a", ["/b", "/c"]])]
async fn path_nested() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = &["/a", "/b"])]
async fn path_several_behind_a_reference() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = [])]
async fn path_several_empty() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = ("/a", "/b"))]
async fn path_several_in_a_tuple() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = ["/a", id])]
async fn path_several_not_text(id: u64) -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = ["/a"; 2])]
async fn path_several_repeated() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = ["/a", "/b/{id}", "/a", "/b/{id}"])]
async fn path_several_twice(id: u64) -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = ["/a", true])]
async fn path_several_not_strings() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = ["/a", "b"])]
async fn path_several_relative() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = ["/a/{id", "/b"])]
async fn path_several_unbalanced(id: u64) -> Result<(), LockError> {
    Ok(())
}

fn main() {}

use zklock::{LockError, distributed_lock, leader_only};

#[leader_only(on_loss = finish, path = ["/a", "/b"], "/a", guard = 7)]
async fn leader_several_mistakes() {}

#[distributed_lock(path = ["/a", 7, "b"], mode = exclusive)]
async fn path_several_mistakes() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "orders", wait = 5, gaurd = held)]
async fn several_mistakes() -> Result<(), LockError> {
    Ok(())
}

fn main() {}

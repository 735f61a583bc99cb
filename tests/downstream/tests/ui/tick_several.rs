use zklock::{LockError, distributed_lock};

#[distributed_lock(path = ["/a", "/b"], once_per = "15m", tick = ["/ticks/a", "/ticks/b"])]
async fn send() -> Result<(), LockError> {
    Ok(())
}

fn main() {}

use zklock::{LockError, distributed_lock};

#[distributed_lock(path = "/orders")]
fn settle() -> impl Future<Output = Result<(), LockError>> {
    async move { Ok(()) }
}

fn main() {}

use zklock::{LockError, distributed_lock};

trait Settle {
    #[distributed_lock(path = "/orders")]
    async fn settle(&self) -> Result<(), LockError>;
}

fn main() {}

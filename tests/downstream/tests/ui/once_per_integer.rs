use zklock::{LockError, distributed_lock};

#[distributed_lock(path = "/invoices", once_per = 15)]
async fn send() -> Result<(), LockError> {
    Ok(())
}

fn main() {}

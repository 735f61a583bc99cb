use zklock::distributed_lock;

struct SettleError;

#[distributed_lock(path = "/orders")]
async fn settle() -> Result<(), SettleError> {
    Ok(())
}

fn main() {}

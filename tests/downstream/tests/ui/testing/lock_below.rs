use zklock::distributed_lock;

#[zklock::test]
#[distributed_lock(path = "/orders")]
async fn an_order_is_settled() -> Result<(), zklock::LockError> {
    Ok(())
}

fn main() {}

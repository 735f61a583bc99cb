use zklock::{LockError, distributed_lock};

struct Receipt;
struct SettleError;

#[distributed_lock(path = "/orders")]
fn returns_a_future() -> impl Future<Output = Result<(), LockError>> {
    async move { Ok(()) }
}

#[distributed_lock(path = "/orders")]
async fn returns_a_type_that_carries_no_error() -> Receipt {
    Receipt
}

#[distributed_lock(path = "/orders")]
async fn returns_an_error_without_from() -> Result<(), SettleError> {
    Ok(())
}

mod returns_nothing {
    use zklock::distributed_lock;

    #[distributed_lock(path = "/orders")]
    async fn settle() {}
}

mod returns_option {
    use zklock::distributed_lock;

    #[distributed_lock(path = "/orders")]
    async fn settle() -> Option<u64> {
        None
    }
}

mod returns_u8 {
    use zklock::distributed_lock;

    #[distributed_lock(path = "/orders")]
    async fn settle() -> u8 {
        7
    }
}

fn main() {}

use zklock::{LockError, distributed_lock};

#[distributed_lock(path = "/orders/{SHOP}")]
async fn braces_unknown_constant(shop: u64) -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/orders/{ident}")]
async fn braces_unknown_name(id: u64) -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/orders/{key(id)}")]
async fn braces_unknown_name_of_a_call(id: u64) -> Result<(), LockError> {
    Ok(())
}

struct Ledger {
    name: String,
}

mod field_without_self {
    use zklock::{LockError, distributed_lock};

    impl super::Ledger {
        #[distributed_lock(path = "/ledgers/{name}")]
        async fn close(&self) -> Result<(), LockError> {
            Ok(())
        }
    }
}

mod field_without_self_in_a_tick {
    use zklock::leader_only;

    impl super::Ledger {
        #[leader_only(once_per = "15m", tick = "/ticks/{name}")]
        async fn sweep(&self) {}
    }
}

fn main() {}

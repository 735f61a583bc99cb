use zklock::{LockError, distributed_lock};

#[distributed_lock(path = "/orders/{ident}")]
async fn braces_unknown_name(id: u64) -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/orders/{shop.name}")]
async fn braces_unknown_name_of_several(id: u64, at: u64) -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/orders/{id}")]
async fn braces_unknown_name_without_arguments() -> Result<(), LockError> {
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

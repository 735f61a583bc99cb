use zklock::{LockError, distributed_lock};

#[distributed_lock(path = "/orders/{ident}")]
async fn braces_unknown_name(id: u64) -> Result<(), LockError> {
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

fn main() {}

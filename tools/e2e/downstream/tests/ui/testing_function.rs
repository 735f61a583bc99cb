use zklock::distributed_lock;
use zklock::testing::FromTestServer;

#[zklock::test]
async fn generics<T: FromTestServer>(_: T, _: impl FromTestServer) {}

#[zklock::test]
#[distributed_lock(path = "/orders")]
async fn lock_below() -> Result<(), zklock::LockError> {
    Ok(())
}

#[zklock::test]
fn not_async() {}

mod on_struct {
    #[zklock::test]
    struct Settle;
}

fn main() {}

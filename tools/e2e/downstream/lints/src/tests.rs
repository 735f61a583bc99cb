//! Functions under `#[zklock::test]`.

use zklock::testing::TestServer;
use zklock::{Client, LockError};

use crate::locks::{named, plain};

#[zklock::test]
async fn a_test_without_arguments() {
    assert!(plain().await.is_ok(), "the lock is free");
}

#[zklock::test(flavor = "multi_thread", worker_threads = 2, session_timeout = "3s")]
async fn arguments_and_a_result(server: TestServer, _client: Client) -> Result<(), LockError> {
    named("shop", 7).await?;
    assert!(server.holder("/orders/shop/7").is_none(), "the lock is released");
    Ok(())
}

//! The tests in the README, exactly as the README shows them.

use zklock::testing::TestServer;
use zklock::{LockError, distributed_lock};

// As in the README, from here on.

#[distributed_lock(path = "/orders/{id}", no_wait)]
async fn settle(id: u64, pay: impl AsyncFnOnce()) -> Result<(), LockError> {
    pay().await;
    Ok(())
}

#[zklock::test]
async fn a_busy_order_is_reported(zk: TestServer) {
    let rival = zk.hold("/orders/7").await;
    assert!(settle(7, async || unreachable!()).await.unwrap_err().is_contended());
    rival.release().await;
    assert!(settle(7, async || {}).await.is_ok());
}

// Up to here.

#[test]
fn the_readme_shows_this_code() {
    let here = include_str!("readme.rs");
    let (_, from) = here.split_once("// As in the README, from here on.\n\n").unwrap();
    let (code, _) = from.split_once("\n// Up to here.").unwrap();
    assert!(include_str!("../../../../README.md").contains(code), "the README shows other code");
}

//! The tests that the README shows, as it shows them.

use zklock::testing::TestServer;
use zklock::{Client, LockError, distributed_lock};

/// Pays the order 7 at once, and all others never.
async fn pay(order: u64) {
    if order != 7 {
        std::future::pending().await
    }
}

// As in the README, from here on.

#[distributed_lock(path = "/orders/{id}", wait = "1s")]
async fn settle(id: u64) -> Result<(), LockError> {
    pay(id).await;
    Ok(())
}

#[zklock::test]
async fn a_busy_order_is_reported(zk: TestServer) {
    let rival = zk.hold("/orders/7").await;
    assert!(settle(7).await.unwrap_err().is_contended());
    rival.release().await;
    assert!(settle(7).await.is_ok());
}

#[zklock::test]
async fn a_settlement_ends_with_its_session(zk: TestServer, client: Client) {
    let expiry = async {
        zk.until(|zk| zk.holder("/orders/8").is_some()).await;
        zk.expire(&client).await;
    };
    let (settled, ()) = tokio::join!(settle(8), expiry);
    assert!(settled.unwrap_err().is_lost());
}

// Up to here.

#[test]
fn the_readme_shows_this_code() {
    let here = include_str!("readme.rs");
    let (_, from) = here.split_once("// As in the README, from here on.\n\n").unwrap();
    let (code, _) = from.split_once("\n// Up to here.").unwrap();
    assert!(include_str!("../../../README.md").contains(code), "the README shows something else");
}

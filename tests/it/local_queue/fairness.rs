//! The turns of clients that compete for one lock. `contract::fairness` has the bound of grants.

use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::sleep;

use super::{PATH, until_in_line};
use crate::support::{Space, soon};

#[tokio::test]
async fn clients_with_long_bodies_alternate() {
    const CALLS: usize = 4;
    let space = Space::new();
    let clients = [space.client().await, space.client().await];
    let (holds, mut holders) = mpsc::unbounded_channel();
    let mut guard = clients[0].mutex(PATH).unwrap().lock().await.unwrap();
    let mut holder = 0;
    for (number, client) in clients.iter().enumerate() {
        for _ in 0..CALLS {
            let (mutex, holds) = (client.mutex(PATH).unwrap(), holds.clone());
            tokio::spawn(async move { holds.send((number, mutex.lock().await.unwrap())) });
        }
    }
    drop(holds);
    space.until_queued(PATH, 2).await;
    until_in_line(&clients[0], CALLS as u32).await;
    for turn in 0..2 * CALLS {
        super::until_accompanied(&space, &clients[holder], PATH).await;
        // A turn is over when its client has known of the other one for 50 ms.
        sleep(Duration::from_millis(60)).await;
        guard.release().await.unwrap();
        (holder, guard) = soon(holders.recv()).await.unwrap();
        assert_eq!(holder, (turn + 1) % 2);
    }
}

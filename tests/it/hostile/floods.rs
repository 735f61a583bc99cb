//! Bytes without answers, slow and fast, which extend no lease and no deadline.

use std::time::{Duration, Instant};

use tokio::time::{sleep, timeout};
use zklock::LossReason;

use super::relay::Answers;
use super::{CONNECTED, OTHER, STALL, Victim, event};

impl Victim {
    async fn assert_calls_end(&self) {
        let started = Instant::now();
        let wait = Duration::from_secs(2);
        let other = self.client.mutex(OTHER).unwrap();
        let outcome = timeout(wait + STALL, other.lock_timeout(wait));
        let error = outcome.await.expect("a call keeps its deadline").expect_err("no server answers");
        assert!(error.is_timeout(), "{error}");
        assert!(started.elapsed() >= wait, "{error}");
    }

    async fn told(&self) -> LossReason {
        let told = timeout(Duration::from_secs(10) + STALL, self.guard.lost()).await;
        told.expect("the holder is told at the end of its lease")
    }
}

/// Attacks a holder, and checks that leases and deadlines end as if the server were silent.
async fn attacked(first: &[u8], again: Vec<u8>, pause: Duration) {
    let victim = Victim::new().await;
    let attack = victim.relay.attack(first, again, pause, Answers::Vanish).await;
    victim.assert_calls_end().await;
    assert_eq!(victim.told().await, LossReason::LeaseExpired);
    assert!(!victim.guard.is_held());
    assert!(attack.written() > 0);
    drop(attack);
}

#[tokio::test]
async fn a_trickle_within_one_frame_events_instead_of_answers_and_a_flood_within_one_frame_extend_no_lease() {
    let (claim, millis) = (i32::MAX.to_be_bytes(), Duration::from_millis);
    attacked(&claim, vec![0; 16], millis(10)).await;
    attacked(&[], event(3, CONNECTED, "/unknown/node").repeat(10), millis(1)).await;
    attacked(&claim, vec![0; 10 << 10], millis(1)).await;
}

/// The client library reads such a flood without a pause, and the client's thread does nothing else: docs/zookeeper-client.md.
#[tokio::test]
async fn a_flood_that_stops_the_thread_of_the_client_extends_no_lease() {
    let victim = Victim::new().await;
    let events = event(3, CONNECTED, "/unknown/node").repeat(1_000);
    let attack = victim.relay.attack(&[], events, Duration::ZERO, Answers::Vanish).await;
    let ended = timeout(Duration::from_secs(10) + STALL, async {
        while victim.guard.is_held() {
            sleep(Duration::from_millis(5)).await;
        }
    });
    ended.await.expect("the lease ends by the clock");
    assert!(attack.written() > 0);
    drop(attack);
    // The thread goes on when the flood is over.
    victim.told().await;
}

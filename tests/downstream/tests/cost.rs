//! The allocations of calls: with observers and without, inside of a lock that is held, and on a follower.

#[path = "../../../benches/observed/line.rs"]
mod line;

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use allocation_counter::measure;
use tracing::level_filters::LevelFilter;
use zklock::testing::TestServer;
use zklock::{Client, LockError, distributed_lock, leader_only};

use line::Line;

/// Returns the number of allocations of one call that gets the lock from another one.
async fn allocations(line: &mut Line) -> u64 {
    let mut counts = Vec::new();
    for _ in 0..2_000 {
        if counts.len() == 200 {
            break;
        }
        let mut is_passed_on = false;
        let counted = measure(|| is_passed_on = line.pass().unwrap()).count_total;
        line.settle().await.unwrap();
        if is_passed_on {
            counts.push(counted);
        }
    }
    assert_eq!(counts.len(), 200, "most calls get the lock from the one before");
    // Queues grow now and then.
    counts.sort_unstable();
    counts[counts.len() / 2]
}

async fn under_a_subscriber(most: LevelFilter, line: &mut Line) -> u64 {
    let subscriber = tracing_subscriber::fmt().with_max_level(most).with_writer(std::io::sink).finish();
    let _observed = tracing::subscriber::set_default(subscriber);
    allocations(line).await
}

#[zklock::test]
async fn a_call_allocates_more_only_while_somebody_observes_it(client: Client, _zk: TestServer) {
    let mut line = Line::start(client.mutex("/orders/7").unwrap()).await.unwrap();
    let unobserved = allocations(&mut line).await;
    assert_eq!(under_a_subscriber(LevelFilter::WARN, &mut line).await, unobserved);
    let events = client.events();
    assert!(allocations(&mut line).await > unobserved);
    drop(events);
    assert_eq!(allocations(&mut line).await, unobserved);
    // It comes last, because `tracing` remembers that its spans were wanted.
    assert!(under_a_subscriber(LevelFilter::INFO, &mut line).await > unobserved);
}

/// Returns the number of allocations of a call that does not wait.
#[track_caller]
fn at_once<T>(call: impl Future<Output = Result<T, LockError>>) -> u64 {
    let mut is_done = false;
    let counted = measure(|| {
        let polled = pin!(call).poll(&mut Context::from_waker(Waker::noop()));
        is_done = matches!(polled, Poll::Ready(Ok(_)));
    });
    assert!(is_done, "the call has a result at once");
    counted.count_total
}

#[distributed_lock(path = "/orders")]
async fn settle(order: u64) -> Result<u64, LockError> {
    Ok(order)
}

#[distributed_lock(path = "/orders/{order}")]
async fn settle_one(order: u64) -> Result<u64, LockError> {
    Ok(order)
}

#[distributed_lock(path = "/catalogue", mode = read)]
async fn look_up(order: u64) -> Result<u64, LockError> {
    Ok(order)
}

#[zklock::test]
async fn an_annotated_call_under_its_lock_allocates_no_path_if_that_is_constant(client: Client) {
    let orders = client.mutex("/orders").unwrap().lock().await.unwrap();
    let order = client.mutex("/orders/7").unwrap().lock().await.unwrap();
    let catalogue = client.rwlock("/catalogue").unwrap().write().await.unwrap();
    let inside = async {
        settle(7).await.unwrap();
        look_up(7).await.unwrap();
        assert_eq!(at_once(settle(7)), 0);
        // Others may read beside it: the scope of the body, what the scope refers to, and what keeps the lock for it.
        assert_eq!(at_once(look_up(7)), 3);
        // The path is formatted.
        assert_eq!(at_once(settle_one(7)), 1);
    };
    orders.scope(async { order.scope(async { catalogue.scope(inside).await }).await }).await;
}

#[distributed_lock(path = "/site", no_wait)]
async fn visit() -> Result<(), LockError> {
    Ok(())
}

#[zklock::test]
async fn a_call_site_with_a_constant_path_serves_clients_with_different_namespaces(zk: TestServer) {
    let connect = async |namespace| zk.config().namespace(namespace).connect().await.unwrap();
    let (eu, us) = (connect("/eu").await, connect("/us").await);
    for (holder, other) in [(&eu, &us), (&us, &eu)] {
        let held = holder.mutex("/site").unwrap().lock().await.unwrap();
        zklock::scope(other.clone(), visit()).await.unwrap();
        assert!(zklock::scope(holder.clone(), visit()).await.unwrap_err().is_contended());
        held.scope(zklock::scope(holder.clone(), visit())).await.unwrap();
        held.release().await.unwrap();
    }
}

#[leader_only(path = "/sweeper")]
async fn sweep() -> Result<(), LockError> {
    unreachable!("another client leads")
}

#[zklock::test]
async fn a_call_that_a_follower_skips_allocates_nothing(client: Client, zk: TestServer) {
    let leader = zk.client().await;
    assert!(leader.leader("/sweeper").unwrap().join().await.unwrap());
    assert!(!client.leader("/sweeper").unwrap().join().await.unwrap());
    assert_eq!(at_once(sweep()), 0);
    assert_eq!(measure(|| assert!(!zklock::is_leader("/sweeper"))).count_total, 0);
}

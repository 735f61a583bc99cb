//! The allocations of a call with observers and without.

#[path = "../../../benches/observed/line.rs"]
mod line;

use allocation_counter::measure;
use tracing::level_filters::LevelFilter;
use zklock::Client;
use zklock::testing::TestServer;

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

//! Groups with common members never deadlock, in whatever order the members are named.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use rstest_reuse::apply;
use tokio::task::JoinSet;

use super::{A, B, C, until_nothing_is_left};
use crate::support::{Kind, Space, on_both_servers};

/// The locks of each session, in the order in which it names them.
const GROUPS: [&[&str]; 4] = [&[A, B], &[B, A], &[A, B, C], &[C, B, A]];

/// The number of tasks of each session, which share its nodes.
const TASKS: usize = 8;

/// Returns the number of rounds of all sessions together: all ten thousand on the embedded server, and fewer
/// on a real one, which writes each round to disk.
fn rounds(kind: Kind) -> usize {
    match kind {
        Kind::Embedded => 10_240,
        Kind::Real => 2_400,
    }
}

#[apply(on_both_servers)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_rounds_of_four_sessions_with_many_tasks_each_end_without_a_deadlock(kind: Kind) {
    let space = Space::new(kind);
    let inside: Arc<[AtomicBool; 3]> = Arc::default();
    let (done, mut tasks) = (Arc::new(AtomicUsize::new(0)), JoinSet::new());
    for group in GROUPS {
        let multi = space.client().await.multi(group.iter().copied()).unwrap();
        for _ in 0..TASKS {
            let (multi, inside, done) = (multi.clone(), inside.clone(), done.clone());
            tasks.spawn(async move {
                let members = &inside[..group.len()];
                for _ in 0..rounds(kind) / GROUPS.len() / TASKS {
                    let guard = multi.lock_timeout(Duration::MAX).await.unwrap();
                    for member in members {
                        assert!(!member.swap(true, Ordering::SeqCst), "two hold at the same time");
                    }
                    tokio::task::yield_now().await;
                    for member in members {
                        member.store(false, Ordering::SeqCst);
                    }
                    guard.release().await.unwrap();
                    done.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
    }
    let mut seen = 0;
    while !tasks.is_empty() {
        // A deadlock is a time without any round in which hundreds of rounds are usual.
        match tokio::time::timeout(STILL, tasks.join_next()).await {
            Ok(ended) => ended.transpose().map(drop).unwrap(),
            Err(_) => {
                let now = done.load(Ordering::SeqCst);
                assert!(now > seen, "nothing was done for {STILL:?} after {now} rounds");
                seen = now;
            }
        }
    }
    assert_eq!(done.load(Ordering::SeqCst), rounds(kind));
    until_nothing_is_left(&space).await;
}

/// The longest time without any round.
const STILL: Duration = Duration::from_secs(10);

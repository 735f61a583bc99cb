//! `LeaderLatch` and `LeaderSelector` of zklock and of Curator, in one election.

use rstest::rstest;

use crate::candidate::{Candidate, PATH};
use crate::record::Record;
use crate::support::{Space, until};

/// The number of candidates in each language.
const CANDIDATES: usize = 3;
/// The number of leaders in both languages that are killed. The others leave.
const KILLED: usize = 2;

#[rstest]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn candidates_of_java_and_rust_list_each_other_and_lead_in_turn_when_leaders_are_killed_or_leave(
    #[values("latch", "selector")] recipe: &str,
) {
    let (space, record) = (Space::new(), Record::new());
    let mut candidates = Vec::new();
    for number in 0..CANDIDATES {
        candidates.push(Candidate::in_java(&space, recipe, &format!("java-{number}"), &record).await);
        space.until_queued(PATH, candidates.len()).await;
        candidates.push(Candidate::in_rust(&space, recipe, &format!("rust-{number}"), &record).await);
        space.until_queued(PATH, candidates.len()).await;
    }
    for terms in 1..=2 * CANDIDATES {
        let is_next = || async { record.latest() == (terms, Some(candidates[0].id().to_owned())) };
        until(is_next, "the next one leads").await;
        let ids: Vec<_> = candidates.iter().map(|candidate| candidate.id().to_owned()).collect();
        for candidate in &mut candidates {
            assert_eq!(candidate.listed().await, format!("*{}", ids.join(" ")), "by {}", candidate.id());
        }
        let leader = candidates.remove(0);
        let _java = if terms <= KILLED {
            leader.kill().await;
            None
        } else {
            leader.leave().await
        };
        space.until_queued(PATH, candidates.len()).await;
    }
    assert_eq!(record.check(1).unwrap().len(), 2 * CANDIDATES, "every candidate led");
}

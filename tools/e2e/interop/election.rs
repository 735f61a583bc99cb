//! `LeaderLatch` and `LeaderSelector` of zklock and of Curator, in one election.

use std::time::{Duration, Instant};

use rstest::rstest;

use crate::candidate::{Candidate, MODE, Mortal, PATH, orders, run_for_office, run_in_java};
use crate::peer::Actor;
use crate::record::Record;
use crate::support::{SHORT_SESSION, Space, until};

/// The number of candidates in each language.
const CANDIDATES: usize = 3;
/// The number of leaders that are killed in each language.
const KILLED: usize = 2;

async fn until_leads(candidate: &Candidate) {
    until(|| async { candidate.leads() }, "it leads").await;
}

/// Three candidates of each language run in turn and lead in that order, one at a time, each until it leaves.
#[rstest]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn candidates_of_java_and_rust_lead_in_turn_and_list_each_other(
    #[values("latch", "selector")] recipe: &str,
) {
    let space = Space::new();
    let (mut theirs, mut ours) = (Vec::new(), Vec::new());
    for number in 0..CANDIDATES {
        let id = format!("java-{number}");
        theirs.push(run_in_java(space.peer(), &space, recipe, &id).await);
        space.until_queued(PATH, 2 * number + 1).await;
        let id = format!("rust-{number}");
        ours.push(Candidate::run(&space.client("by default").await, recipe, &id));
        space.until_queued(PATH, 2 * number + 2).await;
    }
    let mut ids: Vec<_> =
        (0..CANDIDATES).flat_map(|number| ["java", "rust"].map(|side| format!("{side}-{number}"))).collect();
    while !ours.is_empty() {
        let mut leader = theirs.remove(0);
        assert_eq!(leader.event().await, "leads");
        let listed = format!("*{}", ids.join(" "));
        assert_eq!((leader.ask("candidates").await, ours[0].listed().await), (listed.clone(), listed));
        assert!(!ours.iter().any(Candidate::leads));
        leader.order("leave");
        ids.remove(0);
        until_leads(&ours[0]).await;
        theirs.iter_mut().for_each(Actor::assert_busy);
        assert_eq!(ours[0].listed().await, format!("*{}", ids.join(" ")));
        assert_eq!(ours.iter().filter(|candidate| candidate.leads()).count(), 1);
        ours.remove(0).leave().await;
        ids.remove(0);
    }
    space.until_queued(PATH, 0).await;
}

/// Runs three candidates of each language in turn, each in its own process.
async fn mortals(space: &Space, recipe: &str, record: &Record) -> Vec<Mortal> {
    let mut candidates = Vec::new();
    for number in 0..CANDIDATES {
        candidates.push(Mortal::in_java(space, recipe, &format!("java-{number}"), record).await);
        space.until_queued(PATH, candidates.len()).await;
        candidates.push(Mortal::in_rust(space, recipe, &format!("rust-{number}"), record));
        space.until_queued(PATH, candidates.len()).await;
    }
    candidates
}

/// Kills one leader after the other, alternating between the languages. No two candidates lead at the same
/// time, and all that are left list each other.
async fn leaders_are_killed(recipe: &str) {
    let (space, record) = (Space::new(), Record::new());
    let mut candidates = mortals(&space, recipe, &record).await;
    let mut struck = None;
    for terms in 1..=2 * KILLED + 1 {
        let is_next = || async { record.latest() == (terms, Some(candidates[0].id.clone())) };
        until(is_next, "the next one leads").await;
        let took = struck.map_or(Duration::ZERO, |struck: Instant| struck.elapsed());
        assert!(
            took < SHORT_SESSION + Duration::from_secs(12),
            "it took {took:?} to follow the killed leader"
        );
        let ids: Vec<_> = candidates.iter().map(|candidate| candidate.id.clone()).collect();
        for candidate in &mut candidates {
            assert_eq!(candidate.listed().await, format!("*{}", ids.join(" ")), "by {}", candidate.id);
        }
        if terms <= 2 * KILLED {
            let mut leader = candidates.remove(0);
            leader.kill();
            struck = Some(Instant::now());
            // The killed leader cannot write this line itself.
            record.diary(&leader.id).leave(MODE);
        }
    }
    for candidate in &mut candidates {
        until(|| async { record.latest().1.as_ref() == Some(&candidate.id) }, "the next one leads").await;
        candidate.leave().await;
    }
    assert_eq!(record.check(1).unwrap().len(), 2 * CANDIDATES, "every candidate led");
    space.until_queued(PATH, 0).await;
}

#[rstest]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_leaders_of_java_and_rust_are_followed_in_turn_and_one_leads_at_a_time(
    #[values("latch", "selector")] recipe: &str,
) {
    match orders() {
        Some(orders) => run_for_office(orders).await,
        None => leaders_are_killed(recipe).await,
    }
}

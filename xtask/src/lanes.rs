//! Steps that run beside each other.

use std::thread;

use crate::step::{Outcome, Report, Step};

/// Runs lanes beside each other, and the steps of a lane one after the other, until one of them fails.
///
/// Every lane comes to its end before the first failure is returned.
pub(crate) fn run(lanes: Vec<Vec<Step>>) -> Outcome<Vec<Report>> {
    let lane = |steps: Vec<Step>| steps.into_iter().map(Step::run).collect::<Outcome<Vec<_>>>();
    let ends: Vec<_> = thread::scope(|scope| {
        let running: Vec<_> = lanes.into_iter().map(|steps| scope.spawn(move || lane(steps))).collect();
        running.into_iter().map(|lane| lane.join().expect("a lane does not panic")).collect()
    });
    let reports = ends.into_iter().collect::<Outcome<Vec<_>>>()?;
    Ok(reports.into_iter().flatten().collect())
}

//! Steps that run beside each other.

use std::thread;

use crate::step::{Outcome, Report, Step, announce};

/// Runs lanes beside each other, and the steps of a lane one after the other, until one of them fails.
///
/// Every lane comes to its end, and the error names every step that failed or was left out.
pub(crate) fn run(lanes: Vec<Vec<Step>>) -> Outcome<Vec<Report>> {
    let ends: Vec<_> = thread::scope(|scope| {
        let running: Vec<_> = lanes.into_iter().map(|steps| scope.spawn(move || lane(steps))).collect();
        let panicked = |_| (Vec::new(), vec!["a lane panicked".to_owned()]);
        running.into_iter().map(|lane| lane.join().unwrap_or_else(panicked)).collect()
    });
    let (reports, problems): (Vec<_>, Vec<_>) = ends.into_iter().unzip();
    let problems = problems.concat();
    if problems.is_empty() {
        return Ok(reports.into_iter().flatten().collect());
    }
    for report in reports.iter().flatten() {
        announce(&format!("done: {} ({:.1} s)", report.title, report.took.as_secs_f64()));
    }
    Err(problems.join("\n       ").into())
}

/// Runs the steps of one lane. Returns their reports, and what went wrong.
fn lane(steps: Vec<Step>) -> (Vec<Report>, Vec<String>) {
    let (mut reports, mut problems) = (Vec::new(), Vec::new());
    for step in steps {
        if !problems.is_empty() {
            problems.push(format!("left out: {}", step.title()));
            continue;
        }
        match step.run() {
            Ok(report) => reports.push(report),
            Err(error) => problems.push(error.to_string()),
        }
    }
    (reports, problems)
}

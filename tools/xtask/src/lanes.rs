//! Steps that run beside each other.

use std::thread;

use crate::step::{Outcome, Report, Step, announce};

/// Runs lanes beside each other, and the steps of a lane one after the other, until one of them fails.
///
/// Every lane comes to its end, and the error names every step that failed or was left out.
pub(crate) fn run(lanes: Vec<Vec<Step>>) -> Outcome<Vec<Report>> {
    let ends: Vec<Lane> = thread::scope(|scope| {
        let running: Vec<_> = lanes.into_iter().map(|steps| scope.spawn(move || Lane::run(steps))).collect();
        running.into_iter().map(|lane| lane.join().unwrap_or_else(|_| Lane::panicked())).collect()
    });
    let (reports, problems): (Vec<_>, Vec<_>) =
        ends.into_iter().map(|lane| (lane.reports, lane.problems)).unzip();
    let problems: Vec<_> = problems.into_iter().flatten().collect();
    if problems.is_empty() {
        return Ok(reports.into_iter().flatten().collect());
    }
    for report in reports.iter().flatten() {
        announce(&format!("done: {} ({:.1} s)", report.title, report.took.as_secs_f64()));
    }
    Err(problems.join("\n       ").into())
}

/// The result of one lane.
#[derive(Default)]
struct Lane {
    reports: Vec<Report>,
    problems: Vec<String>,
}

impl Lane {
    fn run(steps: Vec<Step>) -> Self {
        let mut lane = Self::default();
        for step in steps {
            if !lane.problems.is_empty() {
                lane.problems.push(format!("left out: {}", step.title()));
                continue;
            }
            match step.run() {
                Ok(report) => lane.reports.push(report),
                Err(error) => lane.problems.push(error.to_string()),
            }
        }
        lane
    }

    fn panicked() -> Self {
        Self { reports: Vec::new(), problems: vec!["a lane panicked".to_owned()] }
    }
}

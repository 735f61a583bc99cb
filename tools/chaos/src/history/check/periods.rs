//! Work that starts once per period.

use std::collections::BTreeMap;

use super::super::event::Event;
use super::super::merged::History;
use super::super::record::Record;
use super::super::violation::{Rule, Violation, millis};
use super::Bounds;

/// Checks that work starts at most once per period, up to a twentieth of the period early.
///
/// Early starts do not accumulate: `k` periods after a start, at most `k` further starts are over, less the twentieth.
/// The servers decide at a time between the beginning of the attempt and the record of the start. A start is reported
/// if it is too early wherever these times are.
pub(crate) fn periods(history: &History, bounds: &Bounds) -> Vec<Violation> {
    let mut works = BTreeMap::<&str, Vec<Start<'_>>>::new();
    for record in history.records() {
        if let Event::Started { work, period, began } = &record.event {
            works.entry(work).or_default().push(Start { began: *began, period: *period, record });
        }
    }
    let mut violations = Vec::new();
    for (work, starts) in works {
        // The latest time that an earlier start leaves for the present one, and that earlier start.
        let mut due: Option<(u64, &Start<'_>)> = None;
        for start in &starts {
            if let Some((due, earlier)) = due.filter(|(due, _)| start.record.at < early(*due, start.period)) {
                let text = format!("{work} starts {} early", millis(due - start.record.at));
                let records = [earlier.record.clone(), start.record.clone()];
                violations.push(Violation::new(Rule::Period, text, records));
            }
            let period = start.period - start.period / 1_000_000 * bounds.clock_ppm;
            let own = (start.began + period, start);
            let next = due.map(|(due, earlier)| (due + period, earlier)).filter(|next| next.0 > own.0);
            due = Some(next.unwrap_or(own));
        }
    }
    violations
}

struct Start<'a> {
    began: u64,
    period: u64,
    record: &'a Record,
}

fn early(due: u64, period: u64) -> u64 {
    due.saturating_sub(period / 20)
}

#[cfg(test)]
mod tests {
    use super::super::super::event::Event;
    use super::super::super::story::{Story, rules};
    use super::super::super::violation::Rule;
    use super::*;

    /// Starts with a period of 1,000, each with the times before and after the attempt.
    fn found(starts: &[(u64, u64)]) -> Vec<Rule> {
        let story = starts.iter().enumerate().fold(Story::default(), |story, (call, (began, at))| {
            let work = "w".to_owned();
            story.at(*at, &format!("1.0/0/{call}"), Event::Started { work, period: 1_000, began: *began })
        });
        rules(&periods(&story.history(), &Bounds { clock_ppm: 0, ..Bounds::default() }))
    }

    #[test]
    fn a_start_may_be_early_by_a_twentieth() {
        assert_eq!(found(&[(100, 100), (1_050, 1_050)]), []);
        assert_eq!(found(&[(100, 100), (1_049, 1_049)]), [Rule::Period]);
        assert_eq!(found(&[(100, 100), (100, 100)]), [Rule::Period]);
    }

    #[test]
    fn early_starts_do_not_accumulate() {
        assert_eq!(found(&[(100, 100), (1_050, 1_050), (2_050, 2_050)]), []);
        assert_eq!(found(&[(100, 100), (1_050, 1_050), (2_049, 2_049)]), [Rule::Period]);
    }

    #[test]
    fn the_servers_may_have_decided_at_any_time_between_the_attempt_and_its_record() {
        assert_eq!(found(&[(100, 900), (1_049, 1_051)]), []);
        assert_eq!(found(&[(100, 900), (1_000, 1_049)]), [Rule::Period]);
    }

    #[test]
    fn a_clock_that_differs_by_its_tolerance_is_no_violation() {
        let second = 1_000_000_000;
        let start = |began| Event::Started { work: "w".to_owned(), period: second, began };
        let story = Story::default().at(0, "1.0/0/0", start(0)).at(second * 945 / 1_000, "1.0/0/1", start(1));
        let with = |clock_ppm| Bounds { clock_ppm, ..Bounds::default() };
        assert_eq!(periods(&story.clone().history(), &with(10_000)), []);
        assert_eq!(rules(&periods(&story.history(), &with(4_000))), [Rule::Period]);
    }
}

//! Work that starts once per period.

use std::collections::BTreeMap;

use super::Bounds;
use super::stuck::CALLS;
use crate::history::{Event, History, Record, Rule, Violation, millis};

/// Checks that work starts at most once per period, up to a twentieth of the period early.
///
/// Early starts do not accumulate: `k` periods after a start, at most `k` further starts are over, less the twentieth.
/// The servers decide at a time between the beginning of the attempt and the record of the start. A start is reported
/// if it is too early wherever these times are.
pub(crate) fn periods(history: &History, bounds: &Bounds) -> Vec<Violation> {
    let mut works = BTreeMap::<&str, Vec<(u64, u64, &Record)>>::new();
    for record in &history.records {
        if let Event::Started { work, period, began } = &record.event {
            works.entry(work).or_default().push((*began, *period, record));
        }
    }
    let mut violations = Vec::new();
    for (work, starts) in works {
        // The latest time that an earlier start leaves for the present one, and that earlier start.
        let mut due: Option<(u64, &Record)> = None;
        for (began, period, start) in starts {
            let is_early = |(due, _): &(u64, &Record)| start.at < due.saturating_sub(period / 20);
            if let Some((due, earlier)) = due.filter(is_early) {
                let text = format!("{work} starts {} early", millis(due - start.at));
                violations.push(Violation::new(Rule::Period, text, [earlier.clone(), start.clone()]));
            }
            let period = period - period / 1_000_000 * bounds.clock_ppm;
            let own = (began + period, start);
            let next = due.map(|(due, earlier)| (due + period, earlier)).filter(|next| next.0 > own.0);
            due = Some(next.unwrap_or(own));
        }
    }
    violations
}

/// Checks that work which is tried again and again starts: within [`Bounds::progress`] behind its last start, or within
/// [`Bounds::recovery`] behind the first attempt. After that time, several attempts in vain show that it does not.
pub(crate) fn idle(history: &History, bounds: &Bounds) -> Vec<Violation> {
    // The time until which attempts in vain show nothing, and those behind it.
    let mut works = BTreeMap::<&str, (u64, Vec<&Record>)>::new();
    let mut violations = Vec::new();
    for record in &history.records {
        match &record.event {
            Event::Started { work, .. } => {
                works.insert(work, (record.at.saturating_add(bounds.progress), Vec::new()));
            }
            Event::NotStarted { work } => {
                let first = || (record.at.saturating_add(bounds.recovery), Vec::new());
                let (late, vain) = works.entry(work).or_insert_with(first);
                vain.extend((record.at > *late).then_some(record));
                if vain.len() == CALLS {
                    let text = format!("{work} has not started for a long time, and is tried in vain");
                    violations.push(Violation::new(Rule::Idle, text, vain.iter().copied().cloned()));
                }
            }
            _ => {}
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::{Story, rules};

    /// Starts with a period of 1,000, each with the times before and after the attempt.
    fn found(starts: &[(u64, u64)]) -> Vec<Rule> {
        let story = starts.iter().enumerate().fold(Story::default(), |story, (call, (began, at))| {
            let work = "w".to_owned();
            story.at(*at, &format!("1.0/0/{call}"), Event::Started { work, period: 1_000, began: *began })
        });
        rules(&periods(&story.history(), &Bounds { clock_ppm: 0, ..Bounds::default() }))
    }

    #[test]
    fn a_start_may_be_early_by_a_twentieth_of_its_period() {
        for (what, starts, is_found) in [
            ("a twentieth early", &[(100, 100), (1_050, 1_050)][..], false),
            ("more than a twentieth early", &[(100, 100), (1_049, 1_049)], true),
            ("at once", &[(100, 100), (100, 100)], true),
            ("the next one is early as well", &[(100, 100), (1_050, 1_050), (2_050, 2_050)], false),
            (
                "both together are more than a twentieth early",
                &[(100, 100), (1_050, 1_050), (2_049, 2_049)],
                true,
            ),
            ("the servers may have decided late enough", &[(100, 900), (1_049, 1_051)], false),
            ("the servers have decided too early in any case", &[(100, 900), (1_000, 1_049)], true),
        ] {
            assert_eq!(found(starts) == [Rule::Period], is_found, "{what}");
        }
    }

    #[test]
    fn work_that_is_tried_in_vain_for_too_long_is_found() {
        let found = |starts: &[u64], attempts: &[u64]| {
            let at = |story: Story, at: &u64, event| story.at(*at, "1.0/0/0", event);
            let (work, period) = (|| "w".to_owned(), 1_000);
            let begun =
                |story, began: &u64| at(story, began, Event::Started { work: work(), period, began: *began });
            let story = starts.iter().fold(Story::default(), begun);
            let story = attempts
                .iter()
                .fold(story, |story, time| at(story, time, Event::NotStarted { work: work() }));
            rules(&idle(&story.history(), &Bounds { recovery: 10, progress: 100, ..Bounds::default() }))
        };
        assert_eq!(found(&[], &[5, 16, 17, 18, 19]), [Rule::Idle], "it has never started");
        assert_eq!(found(&[], &[5, 14, 15, 16, 17]), []);
        assert_eq!(found(&[50], &[5, 16, 17, 60, 150, 151, 152]), []);
        assert_eq!(found(&[50], &[60, 151, 152, 153, 154]), [Rule::Idle]);
        assert_eq!(found(&[50, 152], &[151, 153, 252]), []);
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

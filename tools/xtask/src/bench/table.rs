//! The figures of measurements: their medians and ratios, as a table in Markdown.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};

use super::scenarios::{CURATOR, RAW, ZKLOCK};
use crate::step::Outcome;

/// The figures of a line that a benchmark prints, by their names.
pub(crate) type Figures = BTreeMap<String, f64>;

/// Reads the words of the form `NAME=VALUE`.
///
/// A figure may have the value `-`, such as the longest run where sessions do not share a lock. It is left out.
pub(crate) fn parse(line: &str) -> Outcome<Figures> {
    let words = line.split_whitespace().filter_map(|word| word.split_once('='));
    let figures = words.filter(|(_, text)| *text != "-").map(|(name, text)| {
        let number = text.parse().ok().filter(|number: &f64| number.is_finite());
        let number = number.ok_or_else(|| format!("`{text}` is not a number in `{line}`"))?;
        Ok((name.to_owned(), number))
    });
    let figures: Figures = figures.collect::<Outcome<_>>()?;
    if figures.is_empty() { Err(format!("there are no figures in `{line}`").into()) } else { Ok(figures) }
}

/// Returns a figure that has a value.
pub(crate) fn get(figures: &Figures, name: &str) -> Outcome<f64> {
    figures.get(name).copied().ok_or_else(|| format!("there is no {name} in {figures:?}").into())
}

/// Returns the median of each figure, of those measurements that have it.
pub(crate) fn medians(all: &[Figures]) -> Figures {
    let mut values = BTreeMap::<_, Vec<_>>::new();
    for (name, value) in all.iter().flatten() {
        values.entry(name.clone()).or_default().push(*value);
    }
    values.into_iter().map(|(name, values)| (name, median(values))).collect()
}

/// Returns the median of values, of which there is one at least.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len().is_multiple_of(2) {
        f64::midpoint(values[middle - 1], values[middle])
    } else {
        values[middle]
    }
}

/// The rows of all scenarios.
#[derive(Default)]
pub(crate) struct Table {
    rows: Vec<[String; HEADINGS.len()]>,
}

impl Table {
    /// Adds the medians of the clients of one scenario, those of zklock also divided by those of the others.
    pub(crate) fn add(&mut self, scenario: &str, medians: &[(&'static str, Figures)]) -> Outcome {
        let of = |client| medians.iter().find(|(of, _)| *of == client).map(|(_, figures)| figures);
        let (raw, curator) = (of(RAW.0), of(CURATOR.0));
        for (client, figures) in medians {
            let ratio = |other: Option<&Figures>, name| -> Outcome<String> {
                match other.filter(|_| client.starts_with(ZKLOCK.0)) {
                    Some(other) => Ok(shortened(get(figures, name)? / get(other, name)?)),
                    None => Ok(String::new()),
                }
            };
            let or_nothing = |name, digits| {
                figures.get(name).map_or_else(String::new, |value| format!("{value:.digits$}"))
            };
            self.rows.push([
                scenario.to_owned(),
                (*client).to_owned(),
                format!("{:.0}", get(figures, "ops_per_s")?),
                short(get(figures, "p50_us")?),
                short(get(figures, "p99_us")?),
                format!("{:.2}", get(figures, "requests_per_op")?),
                or_nothing("events_per_op", 2),
                or_nothing("longest_run", 0),
                or_nothing("longest_wait_ms", 1),
                ratio(curator, "ops_per_s")?,
                ratio(curator, "p50_us")?,
                ratio(raw, "ops_per_s")?,
                ratio(raw, "p50_us")?,
            ]);
        }
        Ok(())
    }
}

impl Display for Table {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "| {} |", HEADINGS.join(" | "))?;
        writeln!(f, "|---|---|{}", "---:|".repeat(HEADINGS.len() - 2))?;
        self.rows.iter().try_for_each(|row| writeln!(f, "| {} |", row.join(" | ")))
    }
}

/// Formats a ratio with at least two of its digits, and with all digits in front of the point.
fn shortened(ratio: f64) -> String {
    let digits = if ratio >= 100.0 {
        0
    } else if ratio >= 0.1 {
        2
    } else {
        4
    };
    format!("{ratio:.digits$}")
}

/// Formats microseconds with three digits, or with all digits in front of the point.
fn short(microseconds: f64) -> String {
    if microseconds < 10.0 { format!("{microseconds:.3}") } else { format!("{microseconds:.0}") }
}

const HEADINGS: [&str; 13] = [
    "scenario",
    "client",
    "ops/s",
    "p50 µs",
    "p99 µs",
    "requests/op",
    "events/op",
    "longest run",
    "longest wait ms",
    "ops/s : Curator",
    "p50 : Curator",
    "ops/s : raw",
    "p50 : raw",
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the row of each client, with its operations a second and the median of their times.
    fn rows(scenario: &str, clients: &[(&'static str, f64, f64)]) -> Vec<String> {
        let medians = clients.iter().map(|(client, ops_per_s, p50_us)| {
            let line = format!(
                "ops_per_s={ops_per_s} p50_us={p50_us} p99_us=900 requests_per_op=3 events_per_op=0.5 \
                 longest_run=- longest_wait_ms=4.25"
            );
            (*client, parse(&line).unwrap())
        });
        let mut table = Table::default();
        table.add(scenario, &medians.collect::<Vec<_>>()).unwrap();
        table.to_string().lines().skip(2).map(str::to_owned).collect()
    }

    #[test]
    fn zklock_is_divided_by_curator_and_by_raw() {
        let clients = [
            ("raw", 4000.0, 200.0),
            ("Curator", 1000.0, 500.0),
            ("Curator, shared", 10.0, 5000.0),
            ("zklock, dropped", 3000.0, 5.0),
        ];
        let expected = [
            "| mutex | raw | 4000 | 200 | 900 | 3.00 | 0.50 |  | 4.2 |  |  |  |  |",
            "| mutex | Curator | 1000 | 500 | 900 | 3.00 | 0.50 |  | 4.2 |  |  |  |  |",
            "| mutex | Curator, shared | 10 | 5000 | 900 | 3.00 | 0.50 |  | 4.2 |  |  |  |  |",
            "| mutex | zklock, dropped | 3000 | 5.000 | 900 | 3.00 | 0.50 |  | 4.2 | 3.00 | 0.0100 | 0.75 | 0.0250 |",
        ];
        assert_eq!(rows("mutex", &clients), expected);
        let row = "| rw | zklock | 300000 | 500 | 900 | 3.00 | 0.50 |  | 4.2 | 300 | 1.00 |  |  |";
        assert_eq!(rows("rw", &[clients[1], ("zklock", 300_000.0, 500.0)])[1], row);
    }

    #[test]
    fn a_line_with_another_word_for_a_number_is_refused() {
        for line in ["zklock mutex", "a=NaN", "a=1 b=x", "a="] {
            assert!(parse(line).is_err(), "{line}");
        }
    }

    #[test]
    fn a_median_is_the_middle_of_each_figure() {
        let figures = |line| parse(line).unwrap();
        let all = [figures("zklock mutex a=10 b=1"), figures("a=1000 b=-"), figures("a=20.5 b=3")];
        assert_eq!(medians(&all), figures("a=20.5 b=2"));
    }
}

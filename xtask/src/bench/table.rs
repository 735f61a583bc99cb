//! The medians and their ratios, as a table in Markdown.

use std::fmt::{self, Display, Formatter};

use super::line::Line;
use super::scenarios::Client;

/// The rows of all scenarios.
#[derive(Default)]
pub(crate) struct Table {
    rows: Vec<Row>,
}

struct Row {
    scenario: &'static str,
    client: Client,
    line: Line,
    beside_curator: Option<Ratio>,
    beside_raw: Option<Ratio>,
}

/// The figures of zklock divided by those of another client.
struct Ratio {
    ops_per_s: f64,
    p50: f64,
}

impl Table {
    /// Adds the medians of the clients of one scenario.
    pub(crate) fn add(&mut self, scenario: &'static str, medians: Vec<(Client, Line)>) {
        let line_of = |client| medians.iter().find(|(of, _)| *of == client).map(|(_, line)| *line);
        let (raw, curator) = (line_of(Client::Raw), line_of(Client::Curator("")));
        for (client, line) in medians {
            let ratio = |other: Option<Line>| match client {
                Client::Zklock(_) => other.map(|other| Ratio::new(&line, &other)),
                Client::Raw | Client::Curator(_) => None,
            };
            let (beside_curator, beside_raw) = (ratio(curator), ratio(raw));
            self.rows.push(Row { scenario, client, line, beside_curator, beside_raw });
        }
    }
}

impl Ratio {
    fn new(line: &Line, other: &Line) -> Self {
        Self { ops_per_s: line.ops_per_s / other.ops_per_s, p50: line.p50_us / other.p50_us }
    }
}

impl Display for Table {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "| {} |", HEADINGS.join(" | "))?;
        writeln!(f, "|---|---|{}", "---:|".repeat(HEADINGS.len() - 2))?;
        self.rows.iter().try_for_each(|row| writeln!(f, "| {} |", row.cells().join(" | ")))
    }
}

impl Row {
    fn cells(&self) -> [String; HEADINGS.len()] {
        let Line { ops_per_s, p50_us, p99_us, requests_per_op, .. } = self.line;
        let client = match self.client {
            Client::Raw => "raw".to_owned(),
            Client::Curator(way) => in_way("Curator", way),
            Client::Zklock(way) => in_way("zklock", way),
        };
        let run = self.line.longest_run.map_or_else(String::new, |run| format!("{run:.0}"));
        let ratio = |ratio: &Option<Ratio>, of: fn(&Ratio) -> f64| {
            ratio.as_ref().map_or_else(String::new, |ratio| format!("{:.2}", of(ratio)))
        };
        [
            self.scenario.to_owned(),
            client,
            format!("{ops_per_s:.0}"),
            short(p50_us),
            short(p99_us),
            format!("{requests_per_op:.2}"),
            self.line.events_per_op.map_or_else(String::new, |events| format!("{events:.2}")),
            run,
            format!("{:.1}", self.line.longest_wait_ms),
            ratio(&self.beside_curator, |ratio| ratio.ops_per_s),
            ratio(&self.beside_curator, |ratio| ratio.p50),
            ratio(&self.beside_raw, |ratio| ratio.ops_per_s),
            ratio(&self.beside_raw, |ratio| ratio.p50),
        ]
    }
}

fn in_way(library: &str, way: &str) -> String {
    if way.is_empty() { library.to_owned() } else { format!("{library}, {way}") }
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

    fn line(ops_per_s: f64, p50_us: f64) -> Line {
        Line {
            ops_per_s,
            p50_us,
            p99_us: 900.0,
            requests_per_op: 3.0,
            events_per_op: Some(0.5),
            longest_run: None,
            longest_wait_ms: 4.25,
        }
    }

    fn rows(table: &Table) -> Vec<String> {
        table.to_string().lines().skip(2).map(str::to_owned).collect()
    }

    #[test]
    fn zklock_is_divided_by_curator_and_by_raw() {
        let mut table = Table::default();
        let medians = vec![
            (Client::Raw, line(4000.0, 200.0)),
            (Client::Curator(""), line(1000.0, 500.0)),
            (Client::Curator("shared"), line(10.0, 5000.0)),
            (Client::Zklock(""), line(3000.0, 250.0)),
        ];
        table.add("mutex", medians);
        let expected = [
            "| mutex | raw | 4000 | 200 | 900 | 3.00 | 0.50 |  | 4.2 |  |  |  |  |",
            "| mutex | Curator | 1000 | 500 | 900 | 3.00 | 0.50 |  | 4.2 |  |  |  |  |",
            "| mutex | Curator, shared | 10 | 5000 | 900 | 3.00 | 0.50 |  | 4.2 |  |  |  |  |",
            "| mutex | zklock | 3000 | 250 | 900 | 3.00 | 0.50 |  | 4.2 | 3.00 | 0.50 | 0.75 | 1.25 |",
        ];
        assert_eq!(rows(&table), expected);
    }

    #[test]
    fn a_scenario_without_raw_has_no_ratio_to_it() {
        let mut table = Table::default();
        let shared = Line { longest_run: Some(7.0), ..line(2000.0, 0.08) };
        table.add("rw", vec![(Client::Curator(""), line(1000.0, 0.16)), (Client::Zklock("dropped"), shared)]);
        let row = "| rw | zklock, dropped | 2000 | 0.080 | 900 | 3.00 | 0.50 | 7 | 4.2 | 2.00 | 0.50 |  |  |";
        assert_eq!(rows(&table)[1], row);
    }

    #[test]
    fn all_rows_have_as_many_cells_as_the_heading() {
        let mut table = Table::default();
        table.add("mutex", vec![(Client::Curator(""), line(1.0, 1.0))]);
        let cells: Vec<_> = table.to_string().lines().map(|row| row.matches('|').count()).collect();
        assert_eq!(cells, [HEADINGS.len() + 1; 3]);
    }
}

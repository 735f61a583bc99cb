//! The figures of one measurement, and the medians of several.

use std::str::FromStr;

use crate::step::Outcome;

/// The figures of the line that the benchmark prints.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Line {
    pub(crate) ops_per_s: f64,
    pub(crate) p50_us: f64,
    pub(crate) p99_us: f64,
    pub(crate) requests_per_op: f64,
    /// There is none if the server does not count them.
    pub(crate) events_per_op: Option<f64>,
    /// There is none where sessions do not share a lock.
    pub(crate) longest_run: Option<f64>,
    pub(crate) longest_wait_ms: f64,
}

impl Line {
    pub(crate) fn parse(line: &str) -> Outcome<Self> {
        Ok(Self {
            ops_per_s: number(line, "ops_per_s")?,
            p50_us: number(line, "p50_us")?,
            p99_us: number(line, "p99_us")?,
            requests_per_op: number(line, "requests_per_op")?,
            events_per_op: number_or_none(line, "events_per_op")?,
            longest_run: number_or_none(line, "longest_run")?,
            longest_wait_ms: number(line, "longest_wait_ms")?,
        })
    }

    /// Returns the median of each figure; there is at least one line.
    pub(crate) fn median(lines: &[Self]) -> Self {
        let of = |figure: fn(&Self) -> f64| median(lines.iter().map(figure).collect());
        let of_some = |figure: fn(&Self) -> Option<f64>| {
            let values: Vec<_> = lines.iter().filter_map(figure).collect();
            (!values.is_empty()).then(|| median(values))
        };
        Self {
            ops_per_s: of(|line| line.ops_per_s),
            p50_us: of(|line| line.p50_us),
            p99_us: of(|line| line.p99_us),
            requests_per_op: of(|line| line.requests_per_op),
            events_per_op: of_some(|line| line.events_per_op),
            longest_run: of_some(|line| line.longest_run),
            longest_wait_ms: of(|line| line.longest_wait_ms),
        }
    }
}

fn number_or_none(line: &str, name: &str) -> Outcome<Option<f64>> {
    match value(line, name)? {
        "-" => Ok(None),
        _ => number(line, name).map(Some),
    }
}

fn number(line: &str, name: &str) -> Outcome<f64> {
    let value = value(line, name)?;
    let number = f64::from_str(value).ok().filter(|number| number.is_finite());
    number.ok_or_else(|| format!("{name} is `{value}` in `{line}`").into())
}

fn value<'a>(line: &'a str, name: &str) -> Outcome<&'a str> {
    let mut words = line.split_whitespace();
    let value = words.find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
    value.ok_or_else(|| format!("there is no {name} in `{line}`").into())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len().is_multiple_of(2) {
        f64::midpoint(values[middle - 1], values[middle])
    } else {
        values[middle]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "zklock mutex sessions=8 tasks=1 ops=4000 secs=2.500 ops_per_s=1600 p50_us=4900.500 \
                        p99_us=7000.000 requests_per_op=5.01 events_per_op=1.98 longest_run=3 \
                        longest_wait_ms=12.5";

    fn line(ops_per_s: f64, longest_run: Option<f64>) -> Line {
        Line { ops_per_s, longest_run, ..Line::parse(LINE).unwrap() }
    }

    #[test]
    fn a_line_is_read() {
        let expected = Line {
            ops_per_s: 1600.0,
            p50_us: 4900.5,
            p99_us: 7000.0,
            requests_per_op: 5.01,
            events_per_op: Some(1.98),
            longest_run: Some(3.0),
            longest_wait_ms: 12.5,
        };
        assert_eq!(Line::parse(LINE).unwrap(), expected);
        let other = LINE.replace("longest_run=3", "longest_run=-").replace("op=1.98", "op=-");
        assert_eq!(Line::parse(&other).unwrap(), Line { longest_run: None, events_per_op: None, ..expected });
    }

    #[test]
    fn a_line_without_a_figure_is_refused() {
        for (part, other) in
            [("p50_us=4900.500 ", ""), ("=1600", "=NaN"), ("run=3", "run=x"), ("ops_per_s", "s")]
        {
            assert!(Line::parse(&LINE.replace(part, other)).is_err(), "{part}");
        }
    }

    #[test]
    fn a_median_is_the_middle_of_each_figure() {
        let lines = [line(10.0, Some(1.0)), line(1000.0, Some(7.0)), line(20.0, Some(2.0))];
        assert_eq!(Line::median(&lines), line(20.0, Some(2.0)));
        assert_eq!(Line::median(&lines[..2]), line(505.0, Some(4.0)));
        assert_eq!(Line::median(&[line(10.0, None)]), line(10.0, None));
    }
}

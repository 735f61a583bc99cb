//! The figures of one measurement, and the medians of several.

use std::collections::BTreeMap;

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

#[cfg(test)]
mod tests {
    use super::*;

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

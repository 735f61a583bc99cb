//! The figures of one measurement, and the medians of several.

use std::collections::BTreeMap;
use std::str::FromStr;

use crate::step::Outcome;

/// The figures of a line that a benchmark prints, by their names.
///
/// A figure may have no value, such as the longest run where sessions do not share a lock.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Figures(BTreeMap<String, Option<f64>>);

impl Figures {
    /// Reads the words of the form `NAME=VALUE`.
    pub(crate) fn parse(line: &str) -> Outcome<Self> {
        let words = line.split_whitespace().filter_map(|word| word.split_once('='));
        let figures = words.map(|(name, text)| Ok((name.to_owned(), value(text, line)?)));
        let figures: BTreeMap<_, _> = figures.collect::<Outcome<_>>()?;
        if figures.is_empty() {
            return Err(format!("there are no figures in `{line}`").into());
        }
        Ok(Self(figures))
    }

    /// Returns a figure that has a value.
    pub(crate) fn get(&self, name: &str) -> Outcome<f64> {
        self.find(name).ok_or_else(|| format!("there is no {name} in {:?}", self.0).into())
    }

    pub(crate) fn find(&self, name: &str) -> Option<f64> {
        self.0.get(name).copied().flatten()
    }

    /// Returns the median of each figure, of those measurements that have it.
    pub(crate) fn median(all: &[Self]) -> Self {
        let mut values = BTreeMap::<_, Vec<_>>::new();
        for (name, value) in all.iter().flat_map(|figures| &figures.0) {
            values.entry(name.clone()).or_default().extend(*value);
        }
        Self(values.into_iter().map(|(name, values)| (name, median(values))).collect())
    }
}

fn value(text: &str, line: &str) -> Outcome<Option<f64>> {
    if text == "-" {
        return Ok(None);
    }
    let number = f64::from_str(text).ok().filter(|number| number.is_finite());
    number.map(Some).ok_or_else(|| format!("`{text}` is not a number in `{line}`").into())
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    let (middle, one) = (values.len() / 2, *values.get(values.len() / 2)?);
    Some(if values.len().is_multiple_of(2) { f64::midpoint(values[middle - 1], one) } else { one })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read() {
        let figures = Figures::parse("zklock mutex ops_per_s=1600 p50_us=4900.500 longest_run=-").unwrap();
        assert_eq!(figures.get("ops_per_s").unwrap(), 1600.0);
        assert_eq!(figures.find("p50_us"), Some(4900.5));
        assert_eq!(figures.find("longest_run"), None);
        assert!(figures.get("longest_run").is_err());
    }

    #[test]
    fn a_line_with_another_word_for_a_number_is_refused() {
        for line in ["zklock mutex", "a=NaN", "a=1 b=x", "a="] {
            assert!(Figures::parse(line).is_err(), "{line}");
        }
    }

    #[test]
    fn a_median_is_the_middle_of_each_figure() {
        let figures = |line| Figures::parse(line).unwrap();
        let all = [figures("a=10 b=1"), figures("a=1000 b=-"), figures("a=20 b=3")];
        assert_eq!(Figures::median(&all), figures("a=20 b=2"));
        assert_eq!(Figures::median(&all[..1]), all[0]);
        assert_eq!(Figures::median(&[figures("a=- b=4")]), figures("a=- b=4"));
    }
}

//! The resources of processes and servers over the time of a run, which must not grow.
//!
//! * `sample`: one look at all processes and servers.
//! * `curves`: the picture.
//!
//! Uses only `fleet` and `bell`.

mod curves;
mod sample;

use std::fmt::Write as _;
use std::path::Path;
use std::sync::{Arc, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use std::{fs, io};

use zklock_testkit::Ensemble;

use crate::bell::Bell;
use crate::fleet::Running;

use self::sample::{Gauge, Sample};

/// The looks at the resources, from the start of the run to the end of its bell.
pub(crate) struct Gauges {
    samples: JoinHandle<Vec<Sample>>,
}

/// The curves of a run, as a text and as a picture.
pub(crate) struct Curves {
    samples: Vec<Sample>,
}

impl Gauges {
    /// Begins to look, about two hundred times in a run of this length.
    pub(crate) fn begin(
        running: &Running,
        ensemble: &Arc<Ensemble>,
        (length, end): (Duration, &Bell),
    ) -> io::Result<Self> {
        let (running, ensemble, end) = (running.clone(), ensemble.clone(), end.clone());
        let (begin, pause) = (Instant::now(), (length / SAMPLES).max(SHORTEST_PAUSE));
        let look = move || {
            let mut samples = Vec::new();
            while !end.has_rung() {
                let processes = running.lock().unwrap_or_else(PoisonError::into_inner).clone();
                samples.extend(Sample::take(begin.elapsed(), &processes, &ensemble));
                end.wait(pause);
            }
            samples
        };
        let samples = thread::Builder::new().name("gauges".to_owned()).spawn(look)?;
        Ok(Self { samples })
    }

    /// Returns the curves. Waits for the last look.
    pub(crate) fn end(self) -> io::Result<Curves> {
        let samples =
            self.samples.join().map_err(|_| io::Error::other("the thread of the gauges panicked"))?;
        Ok(Curves { samples })
    }
}

impl Curves {
    /// Writes the figures and the picture into a directory.
    pub(crate) fn write(&self, directory: &Path) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        let mut text = String::from("seconds");
        for gauge in Gauge::ALL {
            write!(text, ",{}", gauge.name())?;
        }
        for sample in &self.samples {
            write!(text, "\n{:.0}", sample.at.as_secs_f64())?;
            for gauge in Gauge::ALL {
                write!(text, ",{:.1}", sample.of(gauge))?;
            }
        }
        fs::write(directory.join("gauges.csv"), text + "\n")?;
        curves::draw(&self.samples, &directory.join("gauges.svg")).map_err(|error| error.to_string().into())
    }

    /// Returns the resources early and late in the run.
    pub(crate) fn summary(&self) -> String {
        let line = |gauge: Gauge| match self.early_and_late(gauge) {
            Some((early, late)) => format!("  {:<32} {early:>10.1} early, {late:>10.1} late\n", gauge.name()),
            None => String::new(),
        };
        "resources, in the second and the last fifth:\n".to_owned() + &Gauge::ALL.map(line).concat()
    }

    /// Returns the resources that have grown, each with its figures. A run that is too short shows none.
    pub(crate) fn grown(&self) -> Vec<String> {
        let is_long = self.samples.last().is_some_and(|sample| sample.at >= LONG);
        let grown = |gauge: &Gauge| {
            let (early, late) = self.early_and_late(*gauge).filter(|_| is_long)?;
            let is_flat = late <= early * GROWTH + gauge.allowance();
            (!is_flat).then(|| format!("{} grew from {early:.1} to {late:.1}", gauge.name()))
        };
        Gauge::ALL.iter().filter_map(grown).collect()
    }

    /// Returns the mean in the second and in the last fifth of the run.
    fn early_and_late(&self, gauge: Gauge) -> Option<(f64, f64)> {
        let fifth = self.samples.len() / 5;
        let mean = |samples: &[Sample]| {
            let sum: f64 = samples.iter().map(|sample| sample.of(gauge)).sum();
            sum / samples.len() as f64
        };
        let late = self.samples.len() - fifth;
        (fifth > 0).then(|| (mean(&self.samples[fifth..2 * fifth]), mean(&self.samples[late..])))
    }
}

/// The number of looks in a run.
const SAMPLES: u32 = 200;
const SHORTEST_PAUSE: Duration = Duration::from_secs(1);
/// The length from which on a run shows whether resources grow. The last look of a run of five minutes is a little earlier.
const LONG: Duration = Duration::from_secs(290);
/// The factor by which a resource may differ from the second to the last fifth of a run.
const GROWTH: f64 = 1.2;

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the curves of a run of 400 s, in which each resource is this much at a part of the time.
    fn curves(value: impl Fn(f64) -> f64) -> Curves {
        let sample =
            |nth: u32| Sample::even(Duration::from_secs(u64::from(4 * nth)), value(f64::from(nth) / 100.0));
        Curves { samples: (0..=100).map(sample).collect() }
    }

    #[test]
    fn resources_that_stay_have_not_grown() {
        assert_eq!(curves(|_| 10_000.0).grown(), Vec::<String>::new());
        assert_eq!(curves(|at| 10_000.0 - 1_000.0 * at).grown(), Vec::<String>::new());
    }

    #[test]
    fn resources_that_grow_by_half_are_told() {
        let grown = curves(|at| 100_000.0 * (1.0 + at));
        assert_eq!(grown.grown().len(), Gauge::ALL.len(), "{:?}", grown.grown());
        assert!(
            grown.grown()[0].starts_with("memory of a process (KiB) grew from 129"),
            "{:?}",
            grown.grown()
        );
    }

    #[test]
    fn a_start_that_fills_memory_is_no_growth() {
        assert_eq!(curves(|at| if at < 0.2 { 1_000.0 } else { 20_000.0 }).grown(), Vec::<String>::new());
    }

    #[test]
    fn the_picture_and_the_figures_have_all_resources() {
        let directory = tempfile::tempdir().unwrap();
        curves(|at| 1_000.0 * at).write(directory.path()).unwrap();
        let figures = fs::read_to_string(directory.path().join("gauges.csv")).unwrap();
        assert_eq!(
            (figures.lines().count(), figures.lines().last()),
            (102, Some("400,1000.0,1000.0,1000.0,1000.0,1000.0,1000.0"))
        );
        let picture = fs::read_to_string(directory.path().join("gauges.svg")).unwrap();
        assert!(Gauge::ALL.iter().all(|gauge| picture.contains(gauge.name())), "{picture}");
    }
}

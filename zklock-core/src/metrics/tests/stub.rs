//! A recorder that notes its calls, and panics when a test wants it to.

use std::collections::HashMap;
use std::mem;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use metrics::{Counter, Gauge, Histogram, Key, KeyName, Metadata, Recorder, SharedString, Unit};

/// A recorder that notes the series that it is asked for, and the values of counters.
#[derive(Debug, Default)]
pub(super) struct Stub {
    asked: Mutex<Vec<String>>,
    values: Mutex<HashMap<String, Arc<AtomicU64>>>,
    /// The number of calls that are still to panic.
    panics: AtomicUsize,
}

impl Stub {
    /// Makes the next calls panic, as many as these.
    pub(super) fn panic_next(&self, calls: usize) {
        self.panics.store(calls, Ordering::Relaxed);
    }

    /// Returns the series that it was asked for since the last time, each as its name and the values of its labels.
    pub(super) fn asked(&self) -> Vec<String> {
        mem::take(&mut self.asked.lock().unwrap())
    }

    pub(super) fn value(&self, series: &str) -> Option<u64> {
        self.values.lock().unwrap().get(series).map(|value| value.load(Ordering::Relaxed))
    }

    fn step(&self) {
        let left = self.panics.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        assert!(left.is_err(), "the recorder panics, as the test wants it to");
    }

    fn ask(&self, key: &Key) -> Arc<AtomicU64> {
        self.step();
        let labels = key.labels().map(metrics::Label::value);
        let name = [key.name()].into_iter().chain(labels).collect::<Vec<_>>().join(" ");
        self.asked.lock().unwrap().push(name.clone());
        self.values.lock().unwrap().entry(name).or_default().clone()
    }
}

impl Recorder for Stub {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {
        self.step();
    }

    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {
        self.step();
    }

    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {
        self.step();
    }

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        Counter::from_arc(self.ask(key))
    }

    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::from_arc(self.ask(key))
    }

    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        self.ask(key);
        Histogram::noop()
    }
}

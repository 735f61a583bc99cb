//! A recorder that notes its calls, and panics when a test wants it to.

use std::collections::HashMap;
use std::mem;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use metrics::{
    Counter, CounterFn, Gauge, GaugeFn, Histogram, HistogramFn, Key, KeyName, Metadata, Recorder,
    SharedString, Unit,
};

/// A recorder that notes the series that it is asked for, and their values.
#[derive(Debug, Default)]
pub(super) struct Stub {
    asked: Mutex<Vec<String>>,
    values: Arc<Mutex<HashMap<String, f64>>>,
    /// The number of calls that are still to panic.
    panics: AtomicUsize,
}

struct Value {
    name: String,
    values: Arc<Mutex<HashMap<String, f64>>>,
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

    pub(super) fn value(&self, series: &str) -> Option<f64> {
        self.values.lock().unwrap().get(series).copied()
    }

    fn step(&self) {
        let left = self.panics.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        assert!(left.is_err(), "the recorder panics, as the test wants it to");
    }

    fn ask(&self, key: &Key) -> Arc<Value> {
        self.step();
        let labels = key.labels().map(metrics::Label::value);
        let name = [key.name()].into_iter().chain(labels).collect::<Vec<_>>().join(" ");
        self.asked.lock().unwrap().push(name.clone());
        Arc::new(Value { name, values: self.values.clone() })
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
        Histogram::from_arc(self.ask(key))
    }
}

impl Value {
    fn change(&self, change: impl FnOnce(f64) -> f64) {
        let mut values = self.values.lock().unwrap();
        let value = values.entry(self.name.clone()).or_default();
        *value = change(*value);
    }
}

impl CounterFn for Value {
    fn increment(&self, value: u64) {
        self.change(|sum| sum + value as f64);
    }

    fn absolute(&self, value: u64) {
        self.change(|_| value as f64);
    }
}

impl GaugeFn for Value {
    fn increment(&self, value: f64) {
        self.change(|sum| sum + value);
    }

    fn decrement(&self, value: f64) {
        self.change(|sum| sum - value);
    }

    fn set(&self, value: f64) {
        self.change(|_| value);
    }
}

/// Its value is the number of durations.
impl HistogramFn for Value {
    fn record(&self, _: f64) {
        self.change(|count| count + 1.0);
    }
}

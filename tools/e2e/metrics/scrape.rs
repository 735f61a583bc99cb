//! The recorder of the process, which is that of Prometheus, and its output.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{LazyLock, Mutex, OnceLock, PoisonError, RwLock, RwLockWriteGuard};
use std::thread;
use std::time::Duration;

use metrics::{Counter, Gauge, Histogram, Key, KeyName, Metadata, Recorder, SharedString, Unit};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle, PrometheusRecorder};
use tokio::time::{sleep, timeout};

static HANDLE: OnceLock<PrometheusHandle> = OnceLock::new();
static THREADS: LazyLock<Mutex<BTreeSet<String>>> = LazyLock::new(Mutex::default);
/// The recorder goes on as a reader, and stands still while there is a writer.
static BLOCK: RwLock<()> = RwLock::new(());
static HAS_STRUCK: AtomicBool = AtomicBool::new(false);

pub(super) fn install() {
    HANDLE.get_or_init(|| {
        let builder = PrometheusBuilder::new().set_buckets(&[0.001, 0.1, 10.0]).unwrap();
        let recorder = builder.build_recorder();
        let handle = recorder.handle();
        metrics::set_global_recorder(Watched(recorder)).expect("no other recorder is installed");
        handle
    });
}

/// A recorder that notes its threads, and stands still when a test wants it to.
struct Watched(PrometheusRecorder);

fn step() {
    THREADS.lock().unwrap().insert(thread::current().name().unwrap_or_default().to_owned());
    if BLOCK.try_read().is_err() {
        HAS_STRUCK.store(true, Ordering::SeqCst);
        drop(BLOCK.read().unwrap_or_else(PoisonError::into_inner));
    }
}

impl Recorder for Watched {
    fn describe_counter(&self, key: KeyName, unit: Option<Unit>, description: SharedString) {
        step();
        self.0.describe_counter(key, unit, description);
    }

    fn describe_gauge(&self, key: KeyName, unit: Option<Unit>, description: SharedString) {
        step();
        self.0.describe_gauge(key, unit, description);
    }

    fn describe_histogram(&self, key: KeyName, unit: Option<Unit>, description: SharedString) {
        step();
        self.0.describe_histogram(key, unit, description);
    }

    fn register_counter(&self, key: &Key, metadata: &Metadata<'_>) -> Counter {
        step();
        self.0.register_counter(key, metadata)
    }

    fn register_gauge(&self, key: &Key, metadata: &Metadata<'_>) -> Gauge {
        step();
        self.0.register_gauge(key, metadata)
    }

    fn register_histogram(&self, key: &Key, metadata: &Metadata<'_>) -> Histogram {
        step();
        self.0.register_histogram(key, metadata)
    }
}

pub(super) fn threads() -> Vec<String> {
    THREADS.lock().unwrap().iter().cloned().collect()
}

/// Makes the recorder stand still until it is dropped.
pub(super) struct Blocked {
    _writer: RwLockWriteGuard<'static, ()>,
}

impl Blocked {
    pub(super) fn begin() -> Self {
        HAS_STRUCK.store(false, Ordering::SeqCst);
        Self { _writer: BLOCK.write().unwrap_or_else(PoisonError::into_inner) }
    }

    pub(super) async fn struck(&self, within: Duration) {
        let struck = async {
            while !HAS_STRUCK.load(Ordering::SeqCst) {
                sleep(Duration::from_millis(20)).await;
            }
        };
        timeout(within, struck).await.expect("the recorder is called");
    }
}

pub(super) fn render() -> String {
    HANDLE.get().expect("the recorder is installed").render()
}

/// Returns the values of all series with this name and these labels.
pub(super) fn scraped(name: &str, labels: &[(&str, &str)]) -> Vec<f64> {
    let text = render();
    let of_name = text.lines().filter_map(|line| {
        let rest = line.strip_prefix(name)?;
        rest.starts_with(['{', ' ']).then_some(rest)
    });
    let has = |rest: &str, (name, value): &(&str, &str)| rest.contains(&format!("{name}=\"{value}\""));
    let fitting = of_name.filter(|rest| labels.iter().all(|label| has(rest, label)));
    fitting.map(|rest| rest.rsplit(' ').next().unwrap().parse().expect("a number")).collect()
}

pub(super) fn types() -> Vec<(String, String)> {
    let text = render();
    let types = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '));
    let mut types: Vec<_> = types.map(|(name, kind)| (name.to_owned(), kind.to_owned())).collect();
    types.sort();
    types
}

pub(super) fn undescribed() -> Vec<String> {
    let text = render();
    let is_described = |name: &str| text.contains(&format!("# HELP {name} "));
    types().into_iter().map(|(name, _)| name).filter(|name| !is_described(name)).collect()
}

//! The log of this process.

use std::fmt::{self, Write};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use tracing::field::{Field, Visit};
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry;
use tracing_subscriber::util::SubscriberInitExt;

/// A subscriber that keeps the warnings and errors of this process, and all that annotated functions tell. It panics at
/// those with [`PANICS`] in them.
pub(crate) struct Loud;

pub(crate) const PANICS: &str = "panics-on-purpose";

static LINES: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn lines() -> MutexGuard<'static, Vec<String>> {
    LINES.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Loud {
    pub(crate) fn listen() {
        static ONCE: Once = Once::new();
        // For the whole process, because sessions have their own threads.
        ONCE.call_once(|| registry().with(Self).init());
    }
}

impl<S: Subscriber> Layer<S> for Loud {
    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
        *metadata.level() <= Level::WARN || metadata.target() == "zklock"
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        struct Line(String);
        impl Visit for Line {
            fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
                write!(self.0, "{field}={value:?} ").expect("a string can be written to");
            }
        }
        let mut line = Line(format!("{} ", event.metadata().target()));
        event.record(&mut line);
        let panics = line.0.contains(PANICS);
        lines().push(line.0);
        assert!(!panics, "the subscriber panics on purpose");
    }
}

pub(crate) fn logged(path: &str) -> Vec<String> {
    lines().iter().filter(|line| line.contains(path)).cloned().collect()
}

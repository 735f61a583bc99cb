//! A subscriber that keeps spans and the events inside of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard};
use std::thread;

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::DefaultGuard;
use tracing::{Dispatch, Event, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry::{LookupSpan, Registry};

/// The spans of this thread, and of all threads that use its subscriber.
#[derive(Clone, Default)]
pub(crate) struct Recorder(Arc<Mutex<Log>>);

#[derive(Default)]
struct Log {
    spans: Vec<Recorded>,
    /// The messages of events, each with the place of the innermost span.
    events: Vec<(String, Option<usize>)>,
    threads: BTreeSet<String>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Recorded {
    pub(crate) name: &'static str,
    pub(crate) parent: Option<&'static str>,
    pub(crate) is_closed: bool,
    fields: BTreeMap<&'static str, String>,
}

impl Recorded {
    pub(crate) fn field(&self, name: &str) -> &str {
        self.fields.get(name).map_or("", String::as_str)
    }

    /// Returns the outcome, the type of the error and the status for OpenTelemetry.
    pub(crate) fn end(&self) -> [&str; 3] {
        ["zklock.outcome", "error.type", "otel.status_code"].map(|name| self.field(name))
    }
}

struct Place(usize);

struct Fields<'a>(&'a mut BTreeMap<&'static str, String>);

impl Visit for Fields<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }
}

impl Recorder {
    /// Keeps the spans of this thread until the guard is dropped.
    pub(crate) fn listen() -> (Self, DefaultGuard) {
        // With two subscribers, `tracing` asks both about a span that another thread uses first.
        static ANOTHER: LazyLock<Dispatch> = LazyLock::new(|| Registry::default().into());
        LazyLock::force(&ANOTHER);
        let recorder = Self::default();
        let listening = tracing::dispatcher::set_default(&recorder.subscriber());
        (recorder, listening)
    }

    pub(crate) fn subscriber(&self) -> Dispatch {
        Registry::default().with(self.clone()).into()
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        let mut log = self.0.lock().unwrap();
        log.threads.insert(thread::current().name().unwrap_or_default().to_owned());
        log
    }

    /// Returns the spans of zklock, in the order of their beginnings.
    pub(crate) fn spans(&self) -> Vec<Recorded> {
        let log = self.0.lock().unwrap();
        log.spans.iter().filter(|span| span.name.starts_with("zklock.")).cloned().collect()
    }

    /// Returns the spans of zklock since the last call.
    pub(crate) fn take(&self) -> Vec<Recorded> {
        let spans = self.spans();
        let open: Vec<_> = spans.iter().filter(|span| !span.is_closed).collect();
        assert!(open.is_empty(), "{open:?}");
        self.0.lock().unwrap().spans.iter_mut().for_each(|span| span.name = "taken");
        spans
    }

    pub(crate) fn around(&self, message: &str) -> Option<&'static str> {
        let log = self.0.lock().unwrap();
        let found: Vec<_> = log.events.iter().filter(|(seen, _)| seen == message).collect();
        let [(_, span)] = found[..] else { panic!("{message}: {found:?}") };
        span.map(|place| log.spans[place].name)
    }

    pub(crate) fn threads(&self) -> BTreeSet<String> {
        self.0.lock().unwrap().threads.clone()
    }
}

fn place_of<S: Subscriber + for<'a> LookupSpan<'a>>(id: &Id, context: &Context<'_, S>) -> usize {
    let span = context.span(id).expect("the span is open");
    let extensions = span.extensions();
    extensions.get::<Place>().expect("the span was recorded").0
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Recorder {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let span = context.span(id).expect("the span is open");
        let parent = span.parent().map(|parent| parent.name());
        let mut recorded = Recorded { name: span.name(), parent, ..Recorded::default() };
        attributes.record(&mut Fields(&mut recorded.fields));
        let mut log = self.log();
        span.extensions_mut().insert(Place(log.spans.len()));
        log.spans.push(recorded);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let place = place_of(id, &context);
        values.record(&mut Fields(&mut self.log().spans[place].fields));
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let inside = context.event_span(event).map(|span| place_of(&span.id(), &context));
        let mut fields = BTreeMap::new();
        event.record(&mut Fields(&mut fields));
        let message = fields.remove("message").unwrap_or_default();
        self.log().events.push((message, inside));
    }

    fn on_enter(&self, _: &Id, _: Context<'_, S>) {
        drop(self.log());
    }

    fn on_exit(&self, _: &Id, _: Context<'_, S>) {
        drop(self.log());
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let place = place_of(&id, &context);
        self.log().spans[place].is_closed = true;
    }
}

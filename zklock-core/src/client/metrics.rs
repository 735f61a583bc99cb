//! Hands the counts of a client to the recorder of the crate `metrics`, once a second and at the client's end.
//!
//! A recorder is code of users, so it runs on a thread of its own, `zklock-metrics`, and never on the client's thread
//! or on that of a call.
//!
//! * [`catalog`]: the names, units and descriptions.
//! * [`report`]: the differences since the last report.

mod catalog;
mod report;
#[cfg(test)]
mod stub;

use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use super::worker::Worker;

use self::catalog::describe;
use self::report::{Report, State};

/// Starts the thread that reports until the worker is gone.
pub(super) fn start(worker: &Arc<Worker>) {
    let (reports, orders) = mpsc::channel();
    let (about, report) = (Arc::downgrade(worker), Report::new(worker));
    let thread = thread::Builder::new().name("zklock-metrics".into());
    match thread.spawn(move || run(&about, report, &orders)) {
        Ok(_) => worker.report_to(reports),
        Err(error) => tracing::warn!(%error, "cannot start the thread that records metrics"),
    }
}

fn run(worker: &Weak<Worker>, mut report: Report, orders: &mpsc::Receiver<mpsc::Sender<()>>) {
    let mut recorder = Recorder::default();
    recorder.call(describe);
    let mut is_over = false;
    loop {
        let order = orders.recv_timeout(PERIOD);
        // The order comes from the client's thread at its end. Handles may still count calls, all of which fail.
        is_over |= order.is_ok();
        let worker = if is_over { None } else { worker.upgrade() };
        let state = worker.map(|worker| State::of(&worker));
        recorder.call(|| report.make(state));
        match order {
            Ok(done) => drop(done.send(())),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

/// The recorder. A panic of it ends neither the reports nor the client.
#[derive(Default)]
struct Recorder {
    has_panicked: bool,
}

impl Recorder {
    /// Runs code that calls the recorder. Logs a panic of it, once.
    fn call(&mut self, code: impl FnOnce()) {
        let Err(panic) = catch_unwind(AssertUnwindSafe(code)) else { return };
        // The drop of the panic may itself panic.
        catch_unwind(AssertUnwindSafe(move || drop(panic))).ok();
        if !mem::replace(&mut self.has_panicked, true) {
            tracing::error!("the recorder of metrics panicked");
        }
    }
}

const PERIOD: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use std::io::{self, Write};
    use std::sync::Mutex;

    use tracing::level_filters::LevelFilter;

    use crate::events::Source;

    use super::stub::Stub;
    use super::*;

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl Write for Lines {
        fn write(&mut self, text: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(text)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn panics_of_the_recorder_end_no_reports_and_are_logged_once() {
        let (source, lines, recorder) = (Source::new(), Lines::default(), Stub::default());
        let report = Report::about(source.meter().clone(), Arc::default(), "/a");
        source.meter().starts.add_one();
        let (reports, orders) = mpsc::channel();
        let (done, told) = mpsc::channel();
        reports.send(done.clone()).unwrap();
        reports.send(done).unwrap();
        drop(reports);
        // That of the descriptions, and that of the first report.
        recorder.panic_next(2);
        let written = lines.clone();
        let log = tracing_subscriber::fmt().with_max_level(LevelFilter::ERROR).with_ansi(false);
        tracing::subscriber::with_default(log.with_writer(move || written.clone()).finish(), || {
            metrics::with_local_recorder(&recorder, || run(&Weak::new(), report, &orders));
        });
        assert_eq!(told.iter().count(), 2);
        assert_eq!(recorder.value("zklock_once_starts_total"), Some(1.0));
        let log = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
        assert_eq!(log.matches("the recorder of metrics panicked").count(), 1, "{log}");
    }
}

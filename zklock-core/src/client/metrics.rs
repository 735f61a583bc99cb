//! Hands the counts of a client to the recorder of the crate `metrics`, once a second and at the client's end.
//!
//! A recorder is code of users, so it runs on a thread of its own, `zklock-metrics`, and never on the client's thread
//! or on that of a call.
//!
//! * [`catalog`]: the names, units and descriptions.
//! * [`report`]: the differences since the last report.

mod catalog;
mod report;

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
    describe();
    let mut is_over = false;
    loop {
        let order = orders.recv_timeout(PERIOD);
        // The order comes from the client's thread at its end. Handles may still count calls, all of which fail.
        is_over |= order.is_ok();
        let worker = if is_over { None } else { worker.upgrade() };
        report.make(worker.map(|worker| State::of(&worker)));
        match order {
            Ok(done) => drop(done.send(())),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

const PERIOD: Duration = Duration::from_secs(1);

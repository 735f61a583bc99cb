//! The events of a client's locks, and the counts of them.

use crate::events::{Events, Hub};

use super::Worker;

impl Worker {
    pub(crate) fn listen(&self) -> Events {
        self.events.listen()
    }

    /// Returns the sender of events, or `None` if nobody listens and nothing is counted.
    pub(crate) fn hub(&self) -> Option<Hub> {
        self.events.hub()
    }

    /// Returns whether there are listeners.
    pub(crate) fn is_heard(&self) -> bool {
        self.events.is_heard()
    }

    /// Counts a body that was started under `once_per`.
    pub(crate) fn note_start(&self) {
        #[cfg(feature = "metrics")]
        self.events.meter().starts.add_one();
    }

    /// Counts a body whose period had begun.
    pub(crate) fn note_skip(&self) {
        #[cfg(feature = "metrics")]
        self.events.meter().skips.add_one();
    }

    /// Has the last counts reported to the recorder at the end of the thread, and waits for that a moment.
    pub(super) fn report(&self) {
        #[cfg(feature = "metrics")]
        self.report_counts();
    }
}

#[cfg(feature = "metrics")]
mod metered {
    use std::sync::{Arc, mpsc};
    use std::time::Duration;

    use crate::client::worker::Worker;
    use crate::events::Meter;

    impl Worker {
        pub(crate) fn meter(&self) -> &Arc<Meter> {
            self.events.meter()
        }

        /// Keeps the sender of the order that is sent at the end of the thread, and answered when its report is made. The
        /// end of the sender is that of the reports.
        pub(crate) fn report_to(&self, reports: mpsc::Sender<mpsc::Sender<()>>) {
            self.reports.set(reports).ok();
        }

        pub(super) fn report_counts(&self) {
            let (done, told) = mpsc::channel();
            // The recorder is code of users, and may block.
            if self.reports.get().is_some_and(|reports| reports.send(done).is_ok()) {
                told.recv_timeout(LONGEST_REPORT).ok();
            }
        }
    }

    const LONGEST_REPORT: Duration = Duration::from_secs(1);
}

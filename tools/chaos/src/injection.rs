//! Injects the faults that strike servers, sessions and nodes, each on a thread of its own.
//!
//! Uses the floors below: `outsider`, `journal`, `orders`, `schedule` and `bell`.

mod outside;
mod servers;

use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use tokio::runtime::Handle;
use zklock_testkit::Ensemble;

use crate::bell::Bell;
use crate::history::Process;
use crate::journal::Chronicle;
use crate::orders::Workload;
use crate::outsider::Outsider;
use crate::schedule::{Fault, Strike};

pub(crate) use self::servers::mend;

/// The targets of faults.
#[derive(Clone)]
pub(crate) struct Field {
    pub(crate) ensemble: Arc<Ensemble>,
    pub(crate) outsider: Outsider,
    pub(crate) chronicle: Chronicle,
    pub(crate) workloads: Vec<Workload>,
    pub(crate) runtime: Handle,
    pub(crate) end: Bell,
}

/// The outcome of an injection.
type Outcome = Result<(), Box<dyn std::error::Error + Send + Sync>>;

impl Field {
    /// Injects a fault on a thread of its own, which ends with the fault. The process and the sessions are those that the
    /// fault ends.
    pub(crate) fn inject(
        &self,
        fault: Fault,
        victim: Option<(Process, Vec<i64>)>,
    ) -> io::Result<JoinHandle<()>> {
        let field = self.clone();
        let strike = move || match field.strike(&fault, victim) {
            Ok(()) => {}
            // Servers that are restarted may answer nothing until the end.
            Err(error) if field.end.has_rung() => field.chronicle.say(&format!("{fault:?}: {error}")),
            Err(error) => field.chronicle.failed(&fault, error.as_ref()),
        };
        thread::Builder::new().name("fault".to_owned()).spawn(strike)
    }

    fn strike(&self, fault: &Fault, victim: Option<(Process, Vec<i64>)>) -> Outcome {
        match (&fault.strike, victim) {
            (Strike::KillServer(server), _) => servers::kill(self, fault, *server),
            (Strike::RollingRestart, _) => servers::roll(self, fault),
            (Strike::SilentServers(servers), _) => servers::silence(self, fault, servers),
            (Strike::LaggingServer(server, delay), _) => servers::delay(self, fault, *server, *delay),
            (Strike::FullDisk(server), _) => servers::fill_disk(self, fault, *server),
            (Strike::SlowDisk(server, stopped), _) => servers::pulse(self, fault, *server, *stopped),
            (Strike::EndSession(_), Some((process, sessions))) => {
                outside::end_session(self, fault, process, &sessions)
            }
            (Strike::DeleteNode(pick), _) => outside::delete_node(self, fault, *pick),
            (Strike::ReapContainers, _) => outside::reap(self, fault),
            _ => Err("this fault is none of servers, sessions and nodes".into()),
        }
    }

    /// Notes the beginning of a fault, causes it, and notes its end.
    fn noted(&self, fault: &Fault, found: &str, cause: impl FnOnce() -> Outcome) -> Outcome {
        let number = self.chronicle.began(fault, found);
        let outcome = cause();
        // A failure has an end, too: a stop of servers without one would excuse all calls behind it.
        self.chronicle.ended(number);
        outcome
    }
}

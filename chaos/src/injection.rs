//! Injects the faults that strike servers, sessions and nodes, each on a thread of its own.
//!
//! Uses the floors below: `outsider`, `chronicle`, `schedule`, `workload` and `bell`.

mod outside;
mod servers;

use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use tokio::runtime::Handle;
use zklock_testkit::Ensemble;
use zklock_testkit::history::Process;

use crate::bell::Bell;
use crate::chronicle::Chronicle;
use crate::outsider::Outsider;
use crate::schedule::Fault;
use crate::workload::Workload;

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

/// The process whose session ends.
#[derive(Clone, Debug)]
pub(crate) struct Victim {
    pub(crate) process: Process,
    pub(crate) sessions: Vec<i64>,
}

impl Field {
    /// Injects a fault on a thread of its own, which ends with the fault.
    pub(crate) fn inject(&self, fault: Fault, victim: Option<Victim>) -> io::Result<JoinHandle<()>> {
        let field = self.clone();
        thread::Builder::new().name("fault".to_owned()).spawn(move || field.strike(&fault, victim))
    }

    fn strike(&self, fault: &Fault, victim: Option<Victim>) {
        let struck = match (fault, victim) {
            (Fault::KillServer { server, down }, _) => servers::kill(self, fault, *server, *down),
            (Fault::RollingRestart, _) => servers::roll(self, fault),
            (Fault::SilentServers { servers, lasts }, _) => servers::silence(self, fault, servers, *lasts),
            (Fault::FullDisk { server, lasts }, _) => servers::fill_disk(self, fault, *server, *lasts),
            (Fault::SlowDisk { server, stopped, lasts }, _) => {
                servers::pulse(self, fault, *server, (*stopped, *lasts))
            }
            (Fault::EndSession { .. }, Some(victim)) => outside::end_session(self, fault, &victim),
            (Fault::DeleteNode { pick }, _) => outside::delete_node(self, fault, *pick),
            (Fault::ReapContainers { lasts }, _) => outside::reap(self, fault, *lasts),
            _ => Err("this fault is none of servers, sessions and nodes".into()),
        };
        if let Err(error) = struck {
            self.chronicle.failed(fault, error.as_ref());
        }
    }
}

/// The outcome of an injection.
type Outcome = Result<(), Box<dyn std::error::Error + Send + Sync>>;

//! Injects the faults that strike servers, sessions and nodes, each on a thread of its own.
//!
//! Uses the floors below: `outsider`, `chronicle`, `schedule`, `workload` and `bell`.

mod field;
mod outside;
mod servers;

use std::io;
use std::thread::{self, JoinHandle};

use crate::schedule::Fault;

pub(crate) use self::field::{Field, Victim};
pub(crate) use self::servers::mend;

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
            (Fault::LaggingServer { server, delay, lasts }, _) => {
                servers::delay(self, fault, *server, (*delay, *lasts))
            }
            (Fault::FullDisk { server, lasts }, _) => servers::fill_disk(self, fault, *server, *lasts),
            (Fault::SlowDisk { server, stopped, lasts }, _) => {
                servers::pulse(self, fault, *server, (*stopped, *lasts))
            }
            (Fault::EndSession { .. }, Some(victim)) => outside::end_session(self, fault, &victim),
            (Fault::DeleteNode { pick }, _) => outside::delete_node(self, fault, *pick),
            (Fault::ReapContainers { lasts }, _) => outside::reap(self, fault, *lasts),
            _ => Err("this fault is none of servers, sessions and nodes".into()),
        };
        match struck {
            Ok(()) => {}
            // Servers that are restarted may answer nothing until the end.
            Err(error) if self.end.has_rung() => self.chronicle.unfinished(fault, error.as_ref()),
            Err(error) => self.chronicle.failed(fault, error.as_ref()),
        }
    }
}

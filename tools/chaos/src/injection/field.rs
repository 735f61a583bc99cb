//! The targets of faults.

use std::sync::Arc;

use crate::history::Process;
use tokio::runtime::Handle;
use zklock_testkit::Ensemble;

use crate::bell::Bell;
use crate::chronicle::Chronicle;
use crate::outsider::Outsider;
use crate::workload::Workload;

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

/// The outcome of an injection.
pub(super) type Outcome = Result<(), Box<dyn std::error::Error + Send + Sync>>;

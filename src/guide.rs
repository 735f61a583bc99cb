//! The guide: how to choose, use, test and operate locks.
//!
//! This module exists only in the documentation. It contains no code, and uses no other module.
//!
//! * [`choosing`]: a lock for each purpose, or an election.
//! * [`configuration`]: the settings of a client, and several clients in one process.
//! * [`timeouts`]: waits, session timeouts, and the outages that a holder survives.
//! * [`cancellation`]: what ends a body, and what it leaves behind.
//! * [`fencing`]: the protection that does not depend on time.
//! * [`stores`]: fencing tokens in PostgreSQL, MySQL and S3.
//! * [`testing`]: a server and its faults inside a test.
//! * [`migration`]: from Apache Curator, ShedLock, Redis locks and kazoo.
//! * [`service`]: a server for development, the log, one whole service, and the HTTP status of each error.
//! * [`kubernetes`]: readiness, the end of pods, limits and pauses.
//! * [`security`]: TLS, logins, digests and access control lists.
//! * [`metrics`]: counts of locks, leaders and sessions, for Prometheus and others.
//! * [`tracing`]: spans of waits and holds, for OpenTelemetry and others, and warnings about long waits.
//! * [`guarantees`]: the promise, its conditions, and what it does not cover.
//! * [`costs`]: the requests of a call, and the order in which calls are served.

#[doc = include_str!("../docs/guide/choosing.md")]
pub mod choosing {}
#[doc = include_str!("../docs/guide/configuration.md")]
pub mod configuration {}
#[doc = include_str!("../docs/guide/timeouts.md")]
pub mod timeouts {}
#[doc = include_str!("../docs/guide/cancellation.md")]
pub mod cancellation {}
#[doc = include_str!("../docs/guide/fencing.md")]
pub mod fencing {}
#[doc = include_str!("../docs/guide/stores.md")]
pub mod stores {}
#[doc = include_str!("../docs/guide/testing.md")]
pub mod testing {}
#[doc = include_str!("../docs/guide/migration.md")]
pub mod migration {}
#[doc = include_str!("../docs/guide/service.md")]
pub mod service {}
#[doc = include_str!("../docs/guide/kubernetes.md")]
pub mod kubernetes {}
#[doc = include_str!("../docs/guide/security.md")]
pub mod security {}
#[doc = include_str!("../docs/guide/metrics.md")]
pub mod metrics {}
#[doc = include_str!("../docs/guide/tracing.md")]
pub mod tracing {}
#[doc = include_str!("../docs/guide/guarantees.md")]
pub mod guarantees {}
#[doc = include_str!("../docs/guide/costs.md")]
pub mod costs {}

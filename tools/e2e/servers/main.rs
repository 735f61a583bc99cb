//! Locks on several real servers and beside a database, and the client library itself.

mod diagnose;
mod election;
mod ensemble;
mod fencing;
mod quotas;
mod reconnects;
#[cfg(soak)]
mod release;
#[cfg(soak)]
mod silence;
#[path = "../../../tests/it/support/mod.rs"]
#[allow(dead_code, unused_imports, reason = "the tests of the root package use the rest")]
mod support;
#[cfg(soak)]
mod unlisted;
mod upstream;

//! Tests of zklock's locks and those of Curator and kazoo at one path, with contenders in a Java process, in a Python
//! process and in Rust. See `tests/README.md`.

mod candidate;
mod contention;
mod election;
#[path = "../../../tests/it/contract/face.rs"]
#[allow(dead_code, reason = "the tests of the root package use the rest")]
mod face;
#[cfg(soak)]
mod kazoo;
mod locks;
mod newcomers;
mod peer;
#[cfg(soak)]
#[path = "../testkit/kazoo/python.rs"]
mod python;
mod record;
mod rwlock;
mod semaphore;
#[path = "../../../tests/it/support/mod.rs"]
#[allow(dead_code, unused_imports, reason = "the tests of the root package use the rest")]
mod shared;
mod support;

use shared::soon;

//! Tests of zklock's locks and Curator's at one path, with contenders in a Java process and in Rust. See
//! `tests/README.md`.

mod candidate;
mod contention;
mod election;
mod exclusive;
mod mutex;
mod peer;
mod process;
mod record;
mod revocation;
mod rwlock;
mod semaphore;
mod support;
mod waiting;

//! What zklock does, on the embedded server and on a real ZooKeeper. See `tests/README.md`.

mod attributes;
mod cancellation;
mod cuts;
mod input;
mod loss;
mod mutex;
mod outage;
mod participants;
mod process;
mod reentrancy;
mod requests;
mod revocation;
mod rwlock;
mod shutdown;
mod support;
mod tidy;

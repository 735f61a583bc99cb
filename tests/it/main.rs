//! What zklock does, on the embedded server and on a real ZooKeeper. See `tests/README.md`.

mod attributes;
mod cancellation;
mod contract;
mod cuts;
mod cycles;
mod ensemble;
mod events;
mod exclusive;
mod input;
mod leader;
mod loss;
mod multi;
mod mutex;
mod outage;
mod parents;
mod process;
mod quiet;
mod recovery;
mod reentrancy;
mod requests;
mod semaphore;
mod shutdown;
mod strangers;
mod support;
mod tidy;
mod watches;

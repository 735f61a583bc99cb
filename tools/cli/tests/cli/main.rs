//! Tests of the command `zklock` as a process, on the embedded server or on a real ZooKeeper.

mod beat;
mod codes;
mod cut;
mod exec;
mod first;
mod force;
mod guarded;
mod keys;
mod lead;
mod lockless;
mod looking;
mod operations;
mod running;
mod screen;
mod scripts;
mod secure;
#[path = "../../../../tests/it/support/server.rs"]
#[allow(dead_code, reason = "nothing here restarts a server")]
mod server;
mod servers;
mod settings;
mod signals;
mod start;
mod support;
#[path = "../../../../tests/it/support/waiting.rs"]
mod waiting;
mod zklock;

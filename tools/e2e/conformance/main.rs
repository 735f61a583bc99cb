//! The protocol of a ZooKeeper server, with the same assertions for every kind of server.
//!
//! Every case runs on its own nodes of a server that all cases of its kind share, or on its own servers. A
//! case that fails on the real server is wrong. A case that fails only on another kind of server is a bug of
//! that kind.
//!
//! Scripts of requests, most of them random, are asked of both servers at once: see [`random`]. There are cases for
//! what scripts cannot show: connections and sessions that end, restarts, and nodes that the server deletes by itself.
//!
//! Nothing is asserted where ZooKeeper 3.8 and 3.9 differ. Since 3.9, `exists` and the events of a watch need
//! the permission to read; an event carries its zxid; a one-shot watch does not replace a persistent one of
//! the same path, and persistent watches are removed and checked by types of their own; a `check` outside of
//! a multi is an unknown request instead of the end of the server; and a `create2` in a multi returns a stat.

mod access;
mod client;
mod frames;
mod random;
mod reaped;
mod restart;
#[path = "../../../tests/it/support/server.rs"]
#[allow(dead_code, reason = "the tests of the root package use the rest")]
mod running;
mod server;
mod sessions;
mod words;

use rstest_reuse::template;

// Runs a case on each kind of server.
#[template]
#[rstest::rstest]
#[tokio::test]
fn on_both_kinds(
    #[future(awt)]
    #[values(Server::of_case(Kind::Real), Server::of_case(Kind::Embedded))]
    server: Server,
) {
}

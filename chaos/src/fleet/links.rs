//! The links from one process to each server, each through a proxy of its own.

use std::net::SocketAddr;
use std::time::Duration;

use zklock_testkit::wire::Opcode;
use zklock_testkit::{Direction, Error, How, Proxy};

use crate::schedule::{Request, Side};

/// The proxies of one process, in the order of the servers.
#[derive(Debug)]
pub(crate) struct Links(Vec<Proxy>);

impl Links {
    pub(super) fn start(servers: &[SocketAddr]) -> Result<Self, Error> {
        servers.iter().map(|server| Proxy::start(*server)).collect::<Result<_, _>>().map(Self)
    }

    pub(super) fn connect_string(&self) -> String {
        let addresses: Vec<_> = self.0.iter().map(Proxy::connect_string).collect();
        addresses.join(",")
    }

    /// Ends all connections.
    pub(crate) fn cut(&self, side: Side) {
        let how = if side == Side::Both { How::Rst } else { How::Fin };
        self.0.iter().for_each(|proxy| proxy.cut(how));
    }

    /// Lets nothing arrive from or at some servers.
    pub(crate) fn silence(&self, servers: &[usize], side: Side) {
        let direction = match side {
            Side::ToServer => Direction::ToServer,
            Side::ToClient => Direction::ToClient,
            Side::Both => Direction::Both,
        };
        servers.iter().for_each(|server| self.0[*server].blackhole(direction));
    }

    /// Delays everything, and more to each further server.
    pub(crate) fn delay(&self, delay: Duration) {
        for (nth, proxy) in (1..).zip(&self.0) {
            proxy.delay(Direction::Both, delay * nth / 2);
        }
    }

    /// Loses the next reply to a request from each server.
    pub(crate) fn lose_reply(&self, request: Request) {
        for proxy in &self.0 {
            let opcode = match request {
                Request::Create => Opcode::CREATE2,
                Request::Delete => Opcode::DELETE,
                Request::Transaction => Opcode::MULTI,
                Request::List => Opcode::GET_CHILDREN,
            };
            proxy.on_reply(opcode).cut(How::Fin);
        }
    }

    /// Removes the faults of some servers.
    pub(crate) fn heal_some(&self, servers: &[usize]) {
        servers.iter().for_each(|server| self.0[*server].heal());
    }

    /// Removes all faults.
    pub(crate) fn heal(&self) {
        self.0.iter().for_each(Proxy::heal);
    }

    /// Removes the rules for replies.
    pub(crate) fn clear(&self) {
        self.0.iter().for_each(Proxy::clear);
    }

    /// Returns the sessions of the process.
    pub(crate) fn sessions(&self) -> Vec<i64> {
        let mut sessions: Vec<_> = self.0.iter().flat_map(Proxy::sessions).collect();
        sessions.sort_unstable();
        sessions.dedup();
        sessions
    }
}

//! The links from one process to each server, each through a proxy of its own.

use std::net::SocketAddr;
use std::time::Duration;

use zklock_testkit::wire::Opcode;
use zklock_testkit::{Direction, Error, How, Proxy};

use crate::schedule::{Request, Side};

/// The links of one process, in the order of the servers.
#[derive(Debug)]
pub(crate) struct Links {
    proxies: Vec<Proxy>,
    /// The present faults, each with its number.
    present: Vec<(u64, Impairment)>,
}

/// A fault of links that lasts.
#[derive(Clone, Debug)]
pub(crate) enum Impairment {
    /// Nothing arrives from or at these servers.
    Silence(Vec<usize>, Side),
    /// Everything is late, and later at each further server.
    Delay(Duration),
    /// The next reply of each server to such a request is lost with its connection. It is the next one once more when
    /// another fault of the links ends meanwhile.
    LostReply(Request),
    /// Connections end right behind each such request.
    Broken(Request),
}

impl Links {
    pub(super) fn start(servers: &[SocketAddr]) -> Result<Self, Error> {
        let proxies = servers.iter().map(|server| Proxy::start(*server)).collect::<Result<_, _>>()?;
        Ok(Self { proxies, present: Vec::new() })
    }

    pub(super) fn connect_string(&self) -> String {
        let addresses: Vec<_> = self.proxies.iter().map(Proxy::connect_string).collect();
        addresses.join(",")
    }

    /// Ends all connections.
    pub(crate) fn cut(&self, side: Side) {
        let how = if side == Side::Both { How::Rst } else { How::Fin };
        self.proxies.iter().for_each(|proxy| proxy.cut(how));
    }

    /// Impairs the links until the fault with this number ends.
    pub(crate) fn impair(&mut self, number: u64, impairment: Impairment) {
        self.apply(&impairment);
        self.present.push((number, impairment));
    }

    /// Ends the fault with this number. Those of other faults stay.
    pub(crate) fn restore(&mut self, number: u64) {
        self.present.retain(|(present, _)| *present != number);
        self.mend();
        self.present.iter().for_each(|(_, impairment)| self.apply(impairment));
    }

    fn apply(&self, impairment: &Impairment) {
        match impairment {
            Impairment::Silence(servers, side) => {
                let direction = match side {
                    Side::ToServer => Direction::ToServer,
                    Side::ToClient => Direction::ToClient,
                    Side::Both => Direction::Both,
                };
                servers.iter().for_each(|server| self.proxies[*server].blackhole(direction));
            }
            Impairment::LostReply(request) => {
                for proxy in &self.proxies {
                    proxy.on_reply(opcode(*request)).cut(How::Fin);
                }
            }
            Impairment::Broken(request) => {
                for proxy in &self.proxies {
                    proxy.on_request(opcode(*request)).always().cut_after(How::Fin);
                }
            }
            Impairment::Delay(delay) => {
                for (nth, proxy) in (1..).zip(&self.proxies) {
                    proxy.delay(Direction::Both, *delay * nth / 2);
                }
            }
        }
    }

    /// Ends all faults.
    pub(crate) fn heal(&mut self) {
        self.present.clear();
        self.mend();
    }

    fn mend(&self) {
        for proxy in &self.proxies {
            proxy.heal();
            proxy.clear();
        }
    }

    /// Returns the sessions of the process.
    pub(crate) fn sessions(&self) -> Vec<i64> {
        let mut sessions: Vec<_> = self.proxies.iter().flat_map(Proxy::sessions).collect();
        sessions.sort_unstable();
        sessions.dedup();
        sessions
    }
}

fn opcode(request: Request) -> Opcode {
    match request {
        Request::Create => Opcode::CREATE2,
        Request::Delete => Opcode::DELETE,
        Request::Transaction => Opcode::MULTI,
        Request::List => Opcode::GET_CHILDREN,
    }
}

//! The links from one process to each server, each through a proxy of its own.

use std::net::SocketAddr;

use zklock_testkit::{Direction, Error, How, Proxy};

use crate::schedule::Impairment;

/// The links of one process, in the order of the servers.
#[derive(Debug)]
pub(crate) struct Links {
    proxies: Vec<Proxy>,
    /// The present faults, each with its number.
    present: Vec<(u64, Impairment)>,
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
    pub(crate) fn cut(&self, how: How) {
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
            Impairment::Silence(servers, direction) => {
                servers.iter().for_each(|server| self.proxies[*server].blackhole(*direction));
            }
            Impairment::LostReply(request) => {
                for proxy in &self.proxies {
                    proxy.on_reply(*request).cut(How::Fin);
                }
            }
            Impairment::Broken(request) => {
                for proxy in &self.proxies {
                    proxy.on_request(*request).always().cut_after(How::Fin);
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

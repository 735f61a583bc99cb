//! The connections of all processes, which other threads look at.

use std::sync::Arc;

use zklock_testkit::Proxy;
use zklock_testkit::history::Library;

use super::Fleet;

/// The connections of all processes.
#[derive(Clone)]
pub(crate) struct Connections(Vec<(Owner, Arc<[Proxy]>)>);

/// The process that a session belongs to, whatever its incarnation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) number: usize,
    pub(crate) library: Library,
}

impl Fleet {
    /// Returns the connections of all processes.
    pub(crate) fn connections(&self) -> Connections {
        let members = self.members.iter().enumerate();
        let connections = members.map(|(number, member)| {
            (Owner { number, library: member.library }, member.links.proxies().clone())
        });
        Connections(connections.collect())
    }
}

impl Connections {
    /// Returns the sessions that have a connection now.
    pub(crate) fn sessions(&self) -> impl Iterator<Item = (i64, Owner)> {
        let sessions = |proxies: &Arc<[Proxy]>| proxies.iter().flat_map(Proxy::sessions).collect::<Vec<_>>();
        self.0.iter().flat_map(move |(owner, proxies)| {
            sessions(proxies).into_iter().map(move |session| (session, *owner))
        })
    }
}

use std::net::IpAddr;

use super::acl::Identities;

/// What a server knows of a connection.
#[derive(Clone, Debug)]
pub(super) struct Connection {
    pub(super) from: IpAddr,
    /// None before the first frame, and after a session was refused.
    pub(super) session: Option<i64>,
    pub(super) identities: Identities,
}

impl Connection {
    pub(super) fn new(from: IpAddr) -> Self {
        Self { from, session: None, identities: Identities::of_address(from) }
    }
}

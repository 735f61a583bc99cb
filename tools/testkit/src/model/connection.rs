//! A connection of the model.

use std::net::IpAddr;

use super::acl::Identities;

/// The state of a connection.
#[derive(Clone, Debug)]
pub(super) struct Connection {
    pub(super) from: IpAddr,
    /// The attached session: `None` before the first frame, and after a session was refused.
    pub(super) session: Option<i64>,
    pub(super) identities: Identities,
}

impl Connection {
    pub(super) fn new(from: IpAddr) -> Self {
        Self { from, session: None, identities: Identities::of_address(from) }
    }
}

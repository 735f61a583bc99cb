//! The state of a session's connection.

/// The health of a client's session, as far as the client can know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Health {
    /// The session is connected.
    Connected,
    /// The connection is broken, or is restored but has not answered a request yet. The session may
    /// still be alive.
    Suspended,
    /// The session ended. The client opens the next one.
    Lost,
}

/// The connection's health, and its epoch: the number of changes observed so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) epoch: u64,
    pub(crate) health: Health,
}

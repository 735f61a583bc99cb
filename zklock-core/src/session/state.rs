//! The state of a session, as far as the client can know it.

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

/// The health of a session, and the number of its present or last connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) connection: u64,
    pub(crate) health: Health,
}

impl Link {
    /// Returns whether this connection is the present one, and is not broken.
    pub(crate) fn is_on(self, connection: u64) -> bool {
        self == Self { connection, health: Health::Connected }
    }
}

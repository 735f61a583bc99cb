//! The client of an annotated function.

use zklock_core::{Client, ClientId, LockError};

use crate::global;

/// A way to the client of an annotated function.
pub trait Source {
    /// Returns the identity of the client, if there is one.
    fn id(&self) -> Option<ClientId>;

    /// Returns the client, or an error that says that there is none.
    fn client(self) -> Result<Client, LockError>;
}

/// The client of functions that name none. A call that enters a lock again does not need more than its identity.
#[derive(Clone, Debug)]
pub struct DefaultClient;

/// Returns the client of functions that name none.
pub fn default_client() -> DefaultClient {
    DefaultClient
}

impl Source for DefaultClient {
    #[inline]
    fn id(&self) -> Option<ClientId> {
        global::client_id()
    }

    fn client(self) -> Result<Client, LockError> {
        global::client()
    }
}

impl Source for Result<Client, LockError> {
    fn id(&self) -> Option<ClientId> {
        self.as_ref().ok().map(Client::id)
    }

    fn client(self) -> Self {
        self
    }
}

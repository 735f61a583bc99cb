//! A lock that is part of a multi-lock.

use std::borrow::Cow;

use crate::client::Client;
use crate::error::LockError;
use crate::hold::{Door, UNNAMED};

/// A lock that is part of a [`MultiLock`](crate::MultiLock).
///
/// A bare path converts into the mutex at that path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    path: String,
    kind: Kind,
    /// The name of this member in events and metrics.
    label: Cow<'static, str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Mutex,
    Exclusive,
    Read,
    Write,
}

impl Member {
    /// Creates the member for the mutex at `path`, the lock of [`Client::mutex`].
    pub fn mutex(path: impl Into<String>) -> Self {
        Self { path: path.into(), kind: Kind::Mutex, label: UNNAMED }
    }

    /// Creates the member for the mutex at `path` that is not reentrant, the lock of [`Client::exclusive`].
    pub fn exclusive(path: impl Into<String>) -> Self {
        Self { path: path.into(), kind: Kind::Exclusive, label: UNNAMED }
    }

    /// Creates the member that reads under the [`RwLock`](crate::RwLock) at `path`.
    pub fn read(path: impl Into<String>) -> Self {
        Self { path: path.into(), kind: Kind::Read, label: UNNAMED }
    }

    /// Creates the member that writes under the [`RwLock`](crate::RwLock) at `path`.
    pub fn write(path: impl Into<String>) -> Self {
        Self { path: path.into(), kind: Kind::Write, label: UNNAMED }
    }

    /// Returns the path of the lock below the client's namespace.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Names this member in events and metrics; see [`Mutex::named`](crate::Mutex::named).
    #[must_use]
    pub fn named(self, name: impl Into<Cow<'static, str>>) -> Self {
        Self { label: name.into(), ..self }
    }

    pub(super) fn door(&self, client: &Client) -> Result<Door, LockError> {
        let door = match self.kind {
            Kind::Mutex => client.mutex(&self.path)?.into_door(),
            Kind::Exclusive => client.exclusive(&self.path)?.into_door(),
            Kind::Read => client.rwlock(&self.path)?.into_doors().0,
            Kind::Write => client.rwlock(&self.path)?.into_doors().1,
        };
        Ok(door.named(self.label.clone()))
    }
}

impl<P: Into<String>> From<P> for Member {
    fn from(path: P) -> Self {
        Self::mutex(path)
    }
}

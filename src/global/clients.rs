//! Clients by name.

use std::collections::BTreeMap;

use zklock_core::Client;

/// Clients by name; the default client has no name.
#[derive(Clone, Debug, Default)]
pub(super) struct Clients {
    /// Apart from the others, because each call that names no client looks for it.
    default: Option<Client>,
    named: BTreeMap<String, Client>,
}

impl Clients {
    pub(super) const fn new() -> Self {
        Self { default: None, named: BTreeMap::new() }
    }

    #[inline]
    pub(super) fn get(&self, name: Option<&str>) -> Option<&Client> {
        match name {
            None => self.default.as_ref(),
            Some(name) => self.named.get(name),
        }
    }

    /// Adds a client, and returns the one of the same name that it replaces.
    pub(super) fn insert(&mut self, name: Option<String>, client: Client) -> Option<Client> {
        match name {
            None => self.default.replace(client),
            Some(name) => self.named.insert(name, client),
        }
    }

    /// Adds these clients, which replace those of the same names.
    pub(super) fn extend(&mut self, clients: Self) {
        self.default = clients.default.or_else(|| self.default.take());
        self.named.extend(clients.named);
    }

    /// Removes those of these clients that are still here under their names.
    pub(super) fn remove(&mut self, clients: &Self) {
        self.default.take_if(|client| clients.default.as_ref().is_some_and(|other| other.is_same(client)));
        self.named.retain(|name, client| !clients.named.get(name).is_some_and(|other| other.is_same(client)));
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Client> {
        self.default.iter().chain(self.named.values())
    }
}

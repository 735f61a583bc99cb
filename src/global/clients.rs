//! Clients by name.

use std::collections::{BTreeMap, BTreeSet};

use zklock_core::Client;

/// Clients by name; the default client has no name.
#[derive(Clone, Debug, Default)]
pub(super) struct Clients {
    /// Apart from the others, because each call that names no client looks for it.
    default: Option<Client>,
    named: BTreeMap<String, Client>,
    /// The names of clients that are shut down and removed, and that no other client has since.
    closed: BTreeSet<Option<String>>,
}

impl Clients {
    pub(super) const fn new() -> Self {
        Self { default: None, named: BTreeMap::new(), closed: BTreeSet::new() }
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
        self.closed.remove(&name);
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

    /// Removes those of these clients that are still here under their names. They are shut down.
    pub(super) fn remove(&mut self, clients: &Self) {
        let is_one = |name: Option<&str>, client: &Client| {
            clients.get(name).is_some_and(|other| other.is_same(client))
        };
        if self.default.take_if(|client| is_one(None, client)).is_some() {
            self.closed.insert(None);
        }
        self.named.retain(|name, client| {
            let is_over = is_one(Some(name), client);
            is_over.then(|| self.closed.insert(Some(name.clone())));
            !is_over
        });
    }

    /// Returns whether the last client of this name was shut down and removed.
    pub(super) fn is_closed(&self, name: &Option<String>) -> bool {
        self.closed.contains(name)
    }

    pub(super) fn has_closed(&self) -> bool {
        !self.closed.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Client> {
        self.default.iter().chain(self.named.values())
    }
}

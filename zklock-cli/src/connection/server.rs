//! The servers of the connect string, one by one.

/// A server of the list.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    /// Its name, as it was given.
    pub(crate) name: String,
    /// `HOST:PORT`.
    pub(crate) address: String,
}

impl Server {
    /// Reads an entry of the list. Without a port, it is ZooKeeper's own; the last colon of an IPv6 address in brackets
    /// is not in front of one.
    pub(super) fn of(entry: &str) -> Self {
        let name = entry.trim().to_owned();
        let server = name.rsplit_once(SCHEME).map_or(&name[..], |(_, server)| server);
        let address = match server.rsplit_once(':') {
            Some((_, port)) if !port.ends_with(']') => server.to_owned(),
            _ => format!("{server}:2181"),
        };
        Self { name, address }
    }
}

/// The end of the scheme of a server.
pub(super) const SCHEME: &str = "://";

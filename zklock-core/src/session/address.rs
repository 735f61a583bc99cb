//! The parts of a server's address.

/// Returns the address of a server in the connect string, which may begin with a scheme.
pub(crate) fn without_scheme(server: &str) -> &str {
    server.rsplit_once("://").map_or(server, |(_, address)| address)
}

/// Splits an address into its host, without the brackets of an IPv6 address, and the text of its port, if it has one.
pub(crate) fn split(address: &str) -> (&str, Option<&str>) {
    let (host, port) = match address.rsplit_once(':') {
        // The last colon of a bracketed IPv6 address does not separate a port.
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (address, None),
    };
    (host.trim_start_matches('[').trim_end_matches(']'), port)
}

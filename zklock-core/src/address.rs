//! One server of a connect string, as text.

use std::net::{Ipv4Addr, Ipv6Addr};

/// The parts of an entry of the connect string: `host:port`, which may begin with a scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Address<'a> {
    pub(crate) scheme: Option<&'a str>,
    /// Without the brackets of an IPv6 address.
    pub(crate) host: &'a str,
    pub(crate) port: Option<u16>,
}

impl<'a> Address<'a> {
    /// Reads an entry. The error continues a sentence about the entry.
    pub(crate) fn parse(entry: &'a str) -> Result<Self, String> {
        let (scheme, address) = match entry.split_once("://") {
            Some((scheme, address)) => (Some(scheme), address),
            None => (None, entry),
        };
        let (host, port) = match address.strip_prefix('[') {
            Some(rest) => {
                let (host, after) = rest.split_once(']').ok_or("has no `]` behind its IPv6 address")?;
                let port = match after {
                    "" => None,
                    after => Some(after.strip_prefix(':').ok_or("has no `:` behind its `]`")?),
                };
                (check_ipv6(host)?, port)
            }
            None => match address.rsplit_once(':') {
                Some((host, port)) => (check_name(host)?, Some(port)),
                None => (check_name(address)?, None),
            },
        };
        Ok(Self { scheme, host, port: port.map(parse_port).transpose()? })
    }

    /// Returns the host and the port, which is ZooKeeper's own if the entry has none.
    pub(crate) fn authority(&self) -> String {
        let (host, port) = self.endpoint();
        if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
    }

    /// Returns the same in two parts, without brackets.
    pub(crate) fn endpoint(&self) -> (&'a str, u16) {
        (self.host, self.port.unwrap_or(2181))
    }
}

/// Checks a host in brackets.
fn check_ipv6(host: &str) -> Result<&str, String> {
    // The interface of a link-local address.
    let (address, interface) = host.split_once('%').unwrap_or((host, "0"));
    let is_valid = address.parse::<Ipv6Addr>().is_ok() && interface.chars().all(is_named);
    if is_valid && !interface.is_empty() {
        Ok(host)
    } else {
        Err("has no valid IPv6 address in its brackets".into())
    }
}

/// Checks a host without brackets: a name, or an IPv4 address.
fn check_name(host: &str) -> Result<&str, String> {
    if host.is_empty() {
        return Err("has no host".into());
    }
    if let Some(c) = host.chars().find(|c| !is_named(*c) && *c != ':') {
        return Err(format!("has the character {c:?}, which no host has; commas separate servers"));
    }
    if host.contains(':') {
        return Err("needs brackets around its IPv6 address, as in `[::1]:2181`".into());
    }
    // The system reads a mere number as an IPv4 address, too.
    let end = host.trim_end_matches('.').rsplit('.').next();
    let is_number = end.is_some_and(|end| end.chars().all(|c| c.is_ascii_digit()));
    if is_number && host.parse::<Ipv4Addr>().is_err() {
        return Err("has a host that is neither a name nor an IPv4 address".into());
    }
    Ok(host)
}

fn parse_port(port: &str) -> Result<u16, String> {
    let is_number = port.chars().all(|c| c.is_ascii_digit());
    port.parse().ok().filter(|port| is_number && *port > 0).ok_or_else(|| "has no valid port".into())
}

/// Returns whether the names of hosts and interfaces have this character.
fn is_named(c: char) -> bool {
    c.is_alphanumeric() || "-_.".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_host_and_may_have_a_scheme_and_a_port() {
        for (entry, scheme, host, port, authority) in [
            ("zk1", None, "zk1", None, "zk1:2181"),
            ("zk_1.example.org.:1", None, "zk_1.example.org.", Some(1), "zk_1.example.org.:1"),
            ("tcp+tls://127.0.0.1:65535", Some("tcp+tls"), "127.0.0.1", Some(65535), "127.0.0.1:65535"),
            ("tcp://[::1]:2182", Some("tcp"), "::1", Some(2182), "[::1]:2182"),
            ("[2001:db8::1]", None, "2001:db8::1", None, "[2001:db8::1]:2181"),
            ("[fe80::1%eth0]:1", None, "fe80::1%eth0", Some(1), "[fe80::1%eth0]:1"),
        ] {
            let address = Address::parse(entry).unwrap();
            assert_eq!(address, Address { scheme, host, port }, "{entry}");
            assert_eq!(address.authority(), authority);
        }
    }

    #[test]
    fn an_entry_that_is_no_address_is_refused() {
        let ipv6 = "has no valid IPv6 address in its brackets";
        let brackets = "needs brackets around its IPv6 address, as in `[::1]:2181`";
        let number = "has a host that is neither a name nor an IPv4 address";
        for (entry, reason) in [
            ("", "has no host"),
            (":2181", "has no host"),
            ("tcp://", "has no host"),
            ("[::1", "has no `]` behind its IPv6 address"),
            ("[::1]x:2181", "has no `:` behind its `]`"),
            ("[::1]2181", "has no `:` behind its `]`"),
            ("[]:2181", ipv6),
            ("[zk1]:2181", ipv6),
            ("[127.0.0.1]:2181", ipv6),
            ("[fe80::1%]:2181", ipv6),
            ("::1", brackets),
            ("2001:db8::1", brackets),
            ("a:1:2", brackets),
            ("a:1;b:2", "has the character ';', which no host has; commas separate servers"),
            ("a b:1", "has the character ' ', which no host has; commas separate servers"),
            ("user@a:1", "has the character '@', which no host has; commas separate servers"),
            ("\"a:1\"", "has the character '\"', which no host has; commas separate servers"),
            ("2181", number),
            ("127.0.0.1.2181", number),
            ("256.0.0.1:2181", number),
            ("a:", "has no valid port"),
            ("a:port", "has no valid port"),
            ("a:0", "has no valid port"),
            ("a:+1", "has no valid port"),
            ("a:70000", "has no valid port"),
            ("[::1]:", "has no valid port"),
        ] {
            assert_eq!(Address::parse(entry), Err(reason.to_owned()), "{entry:?}");
        }
    }
}

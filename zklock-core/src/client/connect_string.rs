//! Parses ZooKeeper's connect string: `host:port,host:port/chroot`.

#[cfg(feature = "tls")]
use rustls::pki_types::ServerName;

use crate::path;
use crate::session::address::split;

/// The servers and the chroot of a connect string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ConnectString {
    pub(super) servers: String,
    /// Empty, or a valid path.
    pub(super) chroot: String,
}

impl ConnectString {
    /// Parses a connect string; the error names the part that is invalid, and the cause.
    ///
    /// Whitespace around a server is dropped, as ZooKeeper's `ConnectStringParser` does.
    ///
    /// The chroot is split off because the client library requires it to exist. Here it is a prefix of all
    /// paths, and is created with them.
    pub(super) fn parse(text: &str, scheme: Scheme) -> Result<Self, String> {
        let text = text.trim();
        let hosts_start = text.rfind("://").map_or(0, |scheme| scheme + "://".len());
        let (servers, chroot) = match text[hosts_start..].find('/') {
            Some(slash) => text.split_at(hosts_start + slash),
            None => (text, ""),
        };
        let chroot = path::validate_root(chroot)
            .map_err(|reason| format!("the chroot {chroot:?} is invalid: {reason}"))?;
        let servers = servers
            .split(',')
            .map(str::trim)
            .map(|server| scheme.entry(server).map_err(|reason| format!("the server {server:?} {reason}")));
        let servers = servers.collect::<Result<Vec<_>, _>>()?;
        Ok(Self { servers: servers.join(","), chroot: chroot.to_owned() })
    }
}

/// The way to talk to all servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scheme {
    Plain,
    #[cfg(feature = "tls")]
    Tls,
}

impl Scheme {
    /// Returns the entry of a server, as the client library reads it.
    fn entry(self, server: &str) -> Result<String, &'static str> {
        let (scheme, address) = match server.split_once("://") {
            Some((scheme, address)) => (Some(scheme), address),
            None => (None, server),
        };
        match (self, scheme) {
            (Self::Plain, None | Some("tcp")) => host(address).map(|_| server.to_owned()),
            #[cfg(feature = "tls")]
            (Self::Plain, Some("tcp+tls")) => Err("needs the certificates of `Config::tls`"),
            #[cfg(not(feature = "tls"))]
            (Self::Plain, Some("tcp+tls")) => Err("needs the feature `tls` of zklock"),
            #[cfg(feature = "tls")]
            (Self::Tls, None | Some("tcp+tls")) => {
                ServerName::try_from(host(address)?)
                    .map_err(|_| "has a host that no certificate can name")?;
                // The default port has no TLS.
                if split(address).1.is_some() {
                    Ok(format!("tcp+tls://{address}"))
                } else {
                    Err("needs the number of its secure port")
                }
            }
            #[cfg(feature = "tls")]
            (Self::Tls, Some("tcp")) => Err("is not encrypted, although there are certificates"),
            _ => Err("has an unsupported scheme"),
        }
    }
}

/// Returns the host of a valid address, without the brackets of an IPv6 address.
fn host(address: &str) -> Result<&str, &'static str> {
    let (host, port) = split(address);
    if host.is_empty() || host.contains(char::is_whitespace) {
        return Err("has no valid host");
    }
    match port.map(str::parse::<u16>) {
        None | Some(Ok(1..)) => Ok(host),
        Some(Ok(0) | Err(_)) => Err("has no valid port"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, servers: &str, chroot: &str) {
        let expected = ConnectString { servers: servers.into(), chroot: chroot.into() };
        assert_eq!(ConnectString::parse(text, Scheme::Plain), Ok(expected));
    }

    #[test]
    fn servers_and_chroot_are_told_apart() {
        check("a:1", "a:1", "");
        check("a", "a", "");
        check("a:1,b:2/", "a:1,b:2", "");
        check("a:1,b:2/app/zoo", "a:1,b:2", "/app/zoo");
        check("tcp://a:1/app", "tcp://a:1", "/app");
        check("[::1]:2181,[::2]/x", "[::1]:2181,[::2]", "/x");
        check(" a:1, b:2 ,\tc:3/app\n", "a:1,b:2,c:3", "/app");
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, named) in [
            ("", "the server \"\" has no valid host"),
            ("a:1,,b", "the server \"\" has no valid host"),
            ("[]:2181", "the server \"[]:2181\" has no valid host"),
            (":2181", "the server \":2181\" has no valid host"),
            ("a b:1", "the server \"a b:1\" has no valid host"),
            ("a:port", "the server \"a:port\" has no valid port"),
            ("a:0", "the server \"a:0\" has no valid port"),
            ("a:70000", "the server \"a:70000\" has no valid port"),
            ("http://a:1", "the server \"http://a:1\" has an unsupported scheme"),
            ("a:1/app//b", "the chroot \"/app//b\" is invalid: it has an empty segment"),
            ("a:1/app/", "the chroot \"/app/\" is invalid: it must not end with `/`"),
        ] {
            assert_eq!(ConnectString::parse(text, Scheme::Plain), Err(named.to_owned()), "{text:?}");
        }
    }
    #[cfg(feature = "tls")]
    #[test]
    fn all_servers_are_encrypted_or_none() {
        let parse = |text| ConnectString::parse(text, Scheme::Tls).map(|parsed| parsed.servers);
        assert_eq!(parse("a:1, tcp+tls://b:2/x").unwrap(), "tcp+tls://a:1,tcp+tls://b:2");
        assert_eq!(parse("[::1]:2281,127.0.0.1:1").unwrap(), "tcp+tls://[::1]:2281,tcp+tls://127.0.0.1:1");
        for (text, scheme, named) in [
            ("tcp://a:1", Scheme::Tls, "is not encrypted, although there are certificates"),
            ("a:1,tcp+tls://b:2", Scheme::Plain, "needs the certificates of `Config::tls`"),
            ("a_b!:1", Scheme::Tls, "has a host that no certificate can name"),
            ("[fe80::1%eth0]:1", Scheme::Tls, "has a host that no certificate can name"),
            ("ssl://a:1", Scheme::Tls, "has an unsupported scheme"),
            ("a", Scheme::Tls, "needs the number of its secure port"),
            ("[::1]", Scheme::Tls, "needs the number of its secure port"),
        ] {
            let error = ConnectString::parse(text, scheme).unwrap_err();
            assert!(error.ends_with(named), "{text}: {error}");
        }
    }
    #[cfg(not(feature = "tls"))]
    #[test]
    fn an_encrypted_server_needs_the_feature() {
        let error = ConnectString::parse("tcp+tls://a:1", Scheme::Plain).unwrap_err();
        assert!(error.ends_with("needs the feature `tls` of zklock"), "{error}");
    }
}

//! Parses ZooKeeper's connect string: `host:port,host:port/chroot`.

#[cfg(feature = "tls")]
use rustls::pki_types::ServerName;

use crate::address::Address;
use crate::path;

/// The servers and the chroot of a connect string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ConnectString {
    pub(super) servers: String,
    /// Empty, or a valid path.
    pub(super) chroot: String,
}

/// The reason for a refusal of a connect string that names no server.
pub(super) const UNSET: &str = "it is not set: name the servers, such as `zk1:2181,zk2:2181,zk3:2181`";

impl ConnectString {
    /// Parses a connect string; the error names the part that is invalid, and the cause.
    ///
    /// Whitespace around a server is dropped, as ZooKeeper's `ConnectStringParser` does.
    ///
    /// The chroot is split off because the client library requires it to exist. Here it is a prefix of all
    /// paths, and is created with them.
    pub(super) fn parse(text: &str, scheme: Scheme) -> Result<Self, String> {
        if text.trim().is_empty() {
            return Err(UNSET.to_owned());
        }
        let entries: Vec<_> = text.split(',').map(|entry| split(entry.trim())).collect();
        let servers = entries.iter().map(|(server, _)| {
            scheme.entry(server).map_err(|reason| format!("the server {server:?} {reason}"))
        });
        let servers = servers.collect::<Result<Vec<_>, _>>()?;
        let (last, others) = entries.split_last().expect("a text has a first entry");
        if others.iter().any(|(_, chroot)| !chroot.is_empty()) {
            let (servers, chroots): (Vec<_>, Vec<_>) = entries.iter().copied().unzip();
            let chroot = chroots.into_iter().max_by_key(|chroot| chroot.len()).unwrap_or_default();
            return Err(format!(
                "a chroot follows the last server alone, and has no comma: write {:?}",
                servers.join(",") + chroot
            ));
        }
        let chroot = last.1;
        let chroot = path::validate_root(chroot)
            .map_err(|reason| format!("the chroot {chroot:?} is invalid: {reason}"))?;
        Ok(Self { servers: servers.join(","), chroot: chroot.to_owned() })
    }
}

/// Splits an entry into its server, and the path that follows it.
fn split(entry: &str) -> (&str, &str) {
    let address = entry.find("://").map_or(0, |end| end + "://".len());
    let slash = entry[address..].find('/').map_or(entry.len(), |slash| address + slash);
    entry.split_at(slash)
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
    fn entry(self, server: &str) -> Result<String, String> {
        let address = Address::parse(server)?;
        let reason = match (self, address.scheme) {
            (Self::Plain, None | Some("tcp")) => return Ok(server.to_owned()),
            #[cfg(feature = "tls")]
            (Self::Plain, Some("tcp+tls")) => "needs the certificates of `Config::tls`",
            #[cfg(not(feature = "tls"))]
            (Self::Plain, Some("tcp+tls")) => "needs the feature `tls` of zklock",
            #[cfg(feature = "tls")]
            (Self::Tls, None | Some("tcp+tls")) => {
                if ServerName::try_from(address.host).is_err() {
                    "has a host that no certificate can name"
                // The default port has no TLS.
                } else if address.port.is_none() {
                    "needs the number of its secure port"
                } else {
                    return Ok(format!("tcp+tls://{}", address.authority()));
                }
            }
            #[cfg(feature = "tls")]
            (Self::Tls, Some("tcp")) => "is not encrypted, although there are certificates",
            _ => "has an unsupported scheme",
        };
        Err(reason.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_and_chroot_are_told_apart() {
        for (text, servers, chroot) in [
            ("a", "a", ""),
            ("a:1,b:2/", "a:1,b:2", ""),
            ("a:1,b:2/app/zoo", "a:1,b:2", "/app/zoo"),
            ("tcp://a:1/app", "tcp://a:1", "/app"),
            ("[::1]:2181,[::2]/x", "[::1]:2181,[::2]", "/x"),
            (" a:1, b:2 ,\tc:3/app\n", "a:1,b:2,c:3", "/app"),
        ] {
            let expected = ConnectString { servers: servers.into(), chroot: chroot.into() };
            assert_eq!(ConnectString::parse(text, Scheme::Plain), Ok(expected));
        }
    }

    #[test]
    fn wrong_part_of_a_connect_string_is_named() {
        for (text, named) in [
            ("", UNSET),
            (" ", UNSET),
            ("a:1,,b", "the server \"\" has no host"),
            ("a:1,b,", "the server \"\" has no host"),
            ("a:1/x,", "the server \"\" has no host"),
            ("a,[::1/x", "the server \"[::1\" has no `]` behind its IPv6 address"),
            ("http://a:1", "the server \"http://a:1\" has an unsupported scheme"),
            ("zk://a:1,b:2/x", "the server \"zk://a:1\" has an unsupported scheme"),
            ("//a:1", "the server \"\" has no host"),
            ("a:1//b", "the chroot \"//b\" is invalid: it has an empty segment"),
            ("a:1/app//b", "the chroot \"/app//b\" is invalid: it has an empty segment"),
            ("a:1/app/", "the chroot \"/app/\" is invalid: it must not end with `/`"),
        ] {
            assert_eq!(ConnectString::parse(text, Scheme::Plain), Err(named.to_owned()), "{text:?}");
        }
    }

    #[test]
    fn a_chroot_behind_each_server_is_refused_and_the_right_form_is_named() {
        for (text, meant) in [
            ("a:1/x,b:1/x", "a:1,b:1/x"),
            ("a:1/x,b:1", "a:1,b:1/x"),
            ("a:1/,b:1/x", "a:1,b:1/x"),
            ("tcp://a:1/x , [::1]:2/x", "tcp://a:1,[::1]:2/x"),
        ] {
            let error = ConnectString::parse(text, Scheme::Plain).unwrap_err();
            assert_eq!(
                error,
                format!("a chroot follows the last server alone, and has no comma: write {meant:?}")
            );
            assert!(ConnectString::parse(meant, Scheme::Plain).is_ok());
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
            ("-a:1", Scheme::Tls, "has a host that no certificate can name"),
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

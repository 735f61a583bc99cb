//! The settings by which a client proves who it is, and knows its servers.

use std::path::{Path, PathBuf};

use crate::address::Address;
use crate::client::connect_string::Scheme;
#[cfg(feature = "sasl-gssapi")]
use crate::connection::gssapi::Kerberos;
#[cfg(feature = "sasl-digest")]
use crate::connection::security::Digest;
use crate::connection::security::{Connector, Login, NodeAcls, Security};
#[cfg(feature = "tls")]
use crate::connection::tls::{Tls, Transport};
use crate::error::LockError;
use crate::tasks::read_file;

use super::acl::Acl;
use super::{Config, invalid};

impl Config {
    /// Adds digest credentials, by which ACLs identify this client. A client may have several. A user has no `:`.
    ///
    /// The password crosses the network unencrypted, unless the connection has TLS.
    #[must_use]
    pub fn digest(mut self, user: &str, password: &str) -> Self {
        self.digests.push(format!("{user}:{password}"));
        self
    }

    /// Adds the digest credentials in a file, `user:password` in each line.
    ///
    /// The file is read when the client is started. It has at most 64 KiB of UTF-8. Empty lines are skipped, and blanks
    /// belong to the password. A file that cannot be read, and one without digests, are invalid.
    #[must_use]
    pub fn digest_file(mut self, file: impl Into<PathBuf>) -> Self {
        self.digest_files.push(file.into());
        self
    }

    /// Logs in by SASL with the mechanism DIGEST-MD5, with which the password does not cross the network.
    ///
    /// ACLs know the client by its user. The user is printable ASCII without blanks, quotes, backslashes and `:`,
    /// and the password is printable ASCII and not empty. Servers without users let any client in. Those from 3.7
    /// on tell that they do not know the client, which is then refused with [`LockError::AuthFailed`].
    #[cfg(feature = "sasl-digest")]
    #[must_use]
    pub fn sasl_digest(self, user: &str, password: &str) -> Self {
        Self { sasl_digest: vec![format!("{user}:{password}")], ..self }
    }

    /// Logs in as by [`sasl_digest`](Self::sasl_digest), with the `user:password` in a file, which has one line.
    ///
    /// The file is read when the client is started. Together with [`sasl_digest`](Self::sasl_digest), it is invalid.
    #[cfg(feature = "sasl-digest")]
    #[must_use]
    pub fn sasl_digest_file(self, file: impl Into<PathBuf>) -> Self {
        Self { sasl_digest_file: Some(file.into()), ..self }
    }

    /// Gives a connector of the client library the credentials and the certificates, for `zklock doctor`.
    #[doc(hidden)]
    pub async fn equip(&self, connector: Connector) -> Result<Connector, LockError> {
        let opening = self.clone().validated()?.opening;
        Ok(opening.security.equip(connector).await)
    }

    /// Checks the configuration. Returns the servers, each as it was given and as `host:port`, and the root of all
    /// paths, for `zklock doctor`.
    #[doc(hidden)]
    pub fn targets(&self) -> Result<(Vec<(String, String)>, String), LockError> {
        let settings = self.clone().validated()?;
        let servers = settings.opening.servers.split(',').map(|server| {
            let address = Address::parse(server).expect("the servers of settings are valid");
            (server.to_owned(), address.authority())
        });
        Ok((servers.collect(), settings.root))
    }

    /// Reads and checks the credentials, the certificates and the lists.
    pub(super) fn security(&self) -> Result<(Security, NodeAcls), LockError> {
        let security = Security {
            digests: digests(("digests", &self.digests), ("digest_files", &self.digest_files))?,
            login: self.login()?,
            #[cfg(feature = "tls")]
            transport: (self.tls.clone().map(Transport::new).transpose())
                .map_err(|reason| invalid("tls", reason))?,
        };
        let checked = |setting: &'static str, acl: &Acl| {
            if acl.needs_user() && !self.proves_a_name(&security) {
                let reason =
                    "it needs a digest, a login or a client certificate, or no client could use the nodes";
                return Err(invalid(setting, reason));
            }
            acl.checked().map_err(|reason| invalid(setting, reason))
        };
        let own = checked("acl", &self.acl)?;
        let parents = self.parent_acl.as_ref().map(|acl| checked("parent_acl", acl)).transpose()?;
        Ok((security, NodeAcls { parents: parents.unwrap_or_else(|| own.clone()), own }))
    }

    fn login(&self) -> Result<Option<Login>, LockError> {
        #[cfg(not(feature = "sasl-digest"))]
        let login = None;
        #[cfg(feature = "sasl-digest")]
        let login = self.digest_login()?.map(Login::Digest);
        #[cfg(feature = "sasl-gssapi")]
        if let Some(gssapi) = &self.sasl_gssapi {
            gssapi.check().map_err(|reason| invalid("sasl_gssapi", reason))?;
            return match login {
                None => Ok(Some(Login::Gssapi(Kerberos::new(gssapi.clone())))),
                Some(_) => Err(invalid("sasl_gssapi", "there is a login by `sasl_digest` as well")),
            };
        }
        Ok(login)
    }

    #[cfg(feature = "sasl-digest")]
    fn digest_login(&self) -> Result<Option<Digest>, LockError> {
        let files = self.sasl_digest_file.as_slice();
        match &digests(("sasl_digest", &self.sasl_digest), ("sasl_digest_file", files))?[..] {
            [] => Ok(None),
            [login] => Digest::new(login).map(Some).map_err(|reason| invalid("sasl_digest", reason)),
            _ => Err(invalid("sasl_digest", "there are several, and a client has one")),
        }
    }

    /// Tells whether ACLs can identify the client.
    fn proves_a_name(&self, security: &Security) -> bool {
        if security.login.is_some() {
            return true;
        }
        #[cfg(feature = "tls")]
        if self.tls.as_ref().is_some_and(Tls::has_identity) {
            return true;
        }
        !security.digests.is_empty()
    }

    pub(super) fn scheme(&self) -> Scheme {
        #[cfg(feature = "tls")]
        if self.tls.is_some() {
            return Scheme::Tls;
        }
        Scheme::Plain
    }
}

/// Returns all digests of two settings: those that were given, and those in the files.
fn digests(
    (setting, given): (&'static str, &[String]),
    (setting_of_files, files): (&'static str, &[PathBuf]),
) -> Result<Vec<String>, LockError> {
    if let Some(wrong) = given.iter().position(|digest| !is_digest(digest)) {
        return Err(invalid(setting, format!("number {} is not `user:password`", wrong + 1)));
    }
    let mut digests = given.to_vec();
    for file in files {
        digests.extend(read(file).map_err(|reason| invalid(setting_of_files, reason))?);
    }
    Ok(digests)
}

/// Reads a file with one digest per line. The error names the file and the line, and shows nothing of the line.
fn read(file: &Path) -> Result<Vec<String>, String> {
    let name = file.display();
    let text = read_file(file, LONGEST_FILE)?;
    let lines = text.lines().map(|line| line.trim_end_matches('\r')).enumerate();
    let mut digests = Vec::new();
    for (index, line) in lines.filter(|(_, line)| !line.is_empty()) {
        if !is_digest(line) {
            return Err(format!("line {} of {name} is not `user:password`", index + 1));
        }
        digests.push(line.to_owned());
    }
    if digests.is_empty() {
        return Err(format!("{name} has no digest"));
    }
    Ok(digests)
}

/// Tells whether this names a user. ZooKeeper's password may be empty.
fn is_digest(text: &str) -> bool {
    text.split_once(':').is_some_and(|(user, _)| !user.is_empty())
}

/// Reads one digest, a list of them, or null. The error shows none of them.
#[cfg(feature = "serde")]
pub(super) fn deserialize<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    use serde::Deserialize;

    #[derive(Deserialize)]
    #[serde(untagged, expecting = "digests must be a text, `user:password`, or a list of them")]
    enum Listed {
        One(String),
        Several(Vec<String>),
    }

    Ok(match Option::deserialize(from)? {
        None => Vec::new(),
        Some(Listed::One(digest)) => vec![digest],
        Some(Listed::Several(digests)) => digests,
    })
}

/// The longest file of digests, in bytes.
const LONGEST_FILE: u64 = 64 * 1024;

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    #[cfg(feature = "sasl-gssapi")]
    use crate::connection::gssapi::Gssapi;

    fn reason(config: Config) -> String {
        let error = config.acl(Acl::CreatorAll).security().err().expect("a setting is wrong").to_string();
        assert!(!error.contains("secret"), "{error}");
        error
    }

    #[test]
    fn a_client_that_closes_its_nodes_proves_who_it_is() {
        let config = Config::new("a:1");
        assert!(reason(config.clone()).starts_with("invalid setting `acl`: it needs a digest"));
        assert!(config.clone().digest("user", "secret").acl(Acl::CreatorAll).security().is_ok());
        let error =
            config.parent_acl(Acl::CreatorAll).security().err().expect("a setting is wrong").to_string();
        assert!(error.starts_with("invalid setting `parent_acl`: it needs a digest"), "{error}");
    }

    #[test]
    fn secrets_are_not_shown() {
        let config = Config::new("a:1").digest("user", "secret");
        #[cfg(feature = "sasl-digest")]
        let config = config.sasl_digest("user", "secret");
        #[cfg(feature = "tls")]
        let config = config.tls(Tls::ca_pem("ca").identity_pem("certificate", "secret"));
        assert!(!format!("{config:?}").contains("secret"));
    }

    #[cfg(feature = "sasl-digest")]
    #[test]
    fn a_login_that_cannot_be_used_is_refused_with_its_setting() {
        let config = || Config::new("a:1");
        let both = config().sasl_digest("a", "secret").sasl_digest_file("/file");
        assert!(reason(both).starts_with("invalid setting `sasl_digest_file`: cannot read /file"));
        let several = Config { sasl_digest: vec!["a:secret".into(), "b:secret".into()], ..config() };
        assert_eq!(reason(several), "invalid setting `sasl_digest`: there are several, and a client has one");
        let missing = reason(config().sasl_digest_file("/no/such/file"));
        assert!(missing.starts_with("invalid setting `sasl_digest_file`: cannot read /no/such/file"));
        let empty = reason(config().sasl_digest("", "secret"));
        assert_eq!(empty, "invalid setting `sasl_digest`: number 1 is not `user:password`");
    }

    #[cfg(feature = "sasl-gssapi")]
    #[test]
    fn a_login_by_kerberos_is_checked_and_is_the_only_one() {
        let with = |gssapi| Config::new("a:1").sasl_gssapi(gssapi);
        assert!(with(Gssapi::default()).acl(Acl::CreatorAll).security().is_ok());
        let wrong = reason(with(Gssapi::service("zookeeper/host")));
        assert!(wrong.starts_with("invalid setting `sasl_gssapi`: the service is empty"), "{wrong}");
        let wrong = reason(with(Gssapi::default().instance("")));
        assert!(wrong.starts_with("invalid setting `sasl_gssapi`: the instance is empty"), "{wrong}");
        #[cfg(feature = "sasl-digest")]
        {
            let both = reason(with(Gssapi::default()).sasl_digest("a", "secret"));
            assert_eq!(both, "invalid setting `sasl_gssapi`: there is a login by `sasl_digest` as well");
        }
    }

    /// Reads a file with this content, whose errors must not show the secret.
    fn read_from(content: &[u8]) -> Result<Vec<String>, String> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(content).unwrap();
        let name = file.path().display().to_string();
        read(file.path()).map_err(|error| {
            assert!(!error.contains("secret"), "{error}");
            error.replace(&name, "FILE")
        })
    }

    #[test]
    fn a_file_has_a_digest_in_each_line() {
        assert_eq!(read_from(b"a:secret").unwrap(), ["a:secret"]);
        assert_eq!(read_from(b"a:secret \r\n\n b:x:y\nc:\n").unwrap(), ["a:secret ", " b:x:y", "c:"]);
    }

    #[test]
    fn a_file_that_cannot_be_used_is_named_with_its_line() {
        assert_eq!(read_from(b"").unwrap_err(), "FILE has no digest");
        assert_eq!(read_from(b"\n\n").unwrap_err(), "FILE has no digest");
        assert_eq!(read_from(b"a:b\n\nsecret\n").unwrap_err(), "line 3 of FILE is not `user:password`");
        assert_eq!(read_from(b":secret\n").unwrap_err(), "line 1 of FILE is not `user:password`");
        assert_eq!(
            read_from(b"a:secret\xff\n").unwrap_err(),
            "cannot read FILE: stream did not contain valid UTF-8"
        );
        let long = vec![b'x'; 64 * 1024 + 1];
        assert_eq!(read_from(&long).unwrap_err(), "cannot read FILE: it is longer than 65536 bytes");
        let missing = Config::new("a").digest_file("/no/such/file").security().err().unwrap().to_string();
        assert!(
            missing.starts_with("invalid setting `digest_files`: cannot read /no/such/file: No such file")
        );
    }

    #[cfg(feature = "serde")]
    #[test]
    fn the_error_of_a_list_that_is_none_shows_no_digest() {
        for digests in ["5", r#"{"user": "secret"}"#, r#"["a:b", {"user": "secret"}]"#] {
            let text = format!(r#"{{"connect": "a", "digests": {digests}}}"#);
            let error = serde_json::from_str::<Config>(&text).unwrap_err().to_string();
            assert!(
                error.contains("must be a text, `user:password`, or a list") && !error.contains("secret"),
                "{error}"
            );
        }
        #[cfg(feature = "sasl-digest")]
        {
            let error = serde_json::from_str::<Config>(r#"{"connect": "a", "sasl_digest": 5}"#).unwrap_err();
            assert!(error.to_string().contains("digests must be a text"), "{error}");
            let none = serde_json::from_str::<Config>(r#"{"connect": "a", "sasl_digest": null}"#);
            assert!(none.unwrap().security().unwrap().0.login.is_none());
        }
        let one = serde_json::from_str::<Config>(r#"{"connect": "a", "digests": "u:p"}"#).unwrap();
        assert_eq!(one.security().unwrap().0.digests, ["u:p"]);
    }
}

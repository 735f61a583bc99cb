//! The users of a real server, its service in Kerberos, and its superuser.

use std::fmt;
use std::path::PathBuf;

use super::{ZooKeeper, write_private};
use crate::{Error, Principal};

/// The users that a server knows by their passwords or by Kerberos, and the digest of its superuser.
#[derive(Clone, Default)]
pub(super) struct Logins {
    users: Vec<(String, String)>,
    service: Option<Principal>,
    superuser: Option<String>,
}

impl Logins {
    /// Adds a user. Panics if the file of the logins cannot contain the name or the password, or there is Kerberos.
    pub(super) fn add(&mut self, name: &str, password: &str) {
        assert!(self.service.is_none(), "the server has Kerberos");
        for text in [name, password] {
            let fits = !text.contains(char::is_control) && !text.contains("${");
            assert!(fits, "a name or a password has a control character or `${{`");
        }
        self.users.push((name.to_owned(), password.to_owned()));
    }

    /// Sets the service of the server in Kerberos. Panics if there are users with passwords.
    pub(super) fn set_kerberos(&mut self, service: &Principal) {
        assert!(self.users.is_empty(), "the server has users with passwords");
        self.service = Some(service.clone());
    }

    /// Returns the configuration of Kerberos.
    pub(super) fn kerberos_config(&self) -> Option<PathBuf> {
        self.service.as_ref().map(Principal::config)
    }

    /// Sets the digest of the superuser. Panics if it cannot be a value of a setting.
    pub(super) fn set_superuser(&mut self, digest: &str) {
        let fits = digest.chars().all(|character| character.is_ascii_graphic() && character != '\\');
        assert!(fits, "a digest has a character other than ASCII letters, digits and punctuation");
        self.superuser = Some(digest.to_owned());
    }

    /// Returns the settings of the server, which contain no password.
    pub(super) fn settings(&self) -> String {
        let provider = self.file().map(|_| format!("authProvider.1={SASL_PROVIDER}\n"));
        let superuser = self.superuser.as_ref();
        let digest = superuser.map(|digest| format!("DigestAuthenticationProvider.superDigest={digest}\n"));
        [provider, digest].into_iter().flatten().collect()
    }

    /// Returns the file of the users or of the service, in the syntax of JAAS, if there are any.
    pub(super) fn file(&self) -> Option<String> {
        match &self.service {
            Some(service) => Some(kerberos(service)),
            None => (!self.users.is_empty()).then(|| self.section("Server")),
        }
    }

    /// Returns a section of a file of users. A server reads the one with the name `Server`.
    fn section(&self, name: &str) -> String {
        let options = self
            .users
            .iter()
            .map(|(name, password)| format!("  {}={}\n", quoted(&format!("user_{name}")), quoted(password)));
        let options: String = options.collect();
        format!("{name} {{\n  {LOGIN_MODULE} required\n{options}  ;\n}};\n")
    }
}

/// Shows the names of the users and no password.
impl fmt::Debug for Logins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.users.iter().map(|(name, _)| name).collect();
        f.debug_struct("Logins").field("users", &names).finish_non_exhaustive()
    }
}

impl ZooKeeper {
    /// Replaces all users by others, as of the next [`restart`](Self::restart). Each has a name and a password.
    ///
    /// The server must have been started with a user. Without any, it becomes a server that accepts every login and
    /// ignores it.
    ///
    /// # Panics
    ///
    /// Panics as [`ZooKeeperBuilder::user`](crate::ZooKeeperBuilder::user) does.
    pub fn replace_users<'a>(
        &self,
        users: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<(), Error> {
        let mut logins = Logins::default();
        users.into_iter().for_each(|(name, password)| logins.add(name, password));
        // A server that finds no section of its own has no users.
        let file = logins.file().unwrap_or_else(|| logins.section("Nobody"));
        write_private(&self.directory().join(LOGINS), &file).map_err(Error::io("write the users"))
    }
}

/// Returns the file of a service. It does not ask the key distribution center for anything.
fn kerberos(service: &Principal) -> String {
    let (keytab, name) = (quoted(&service.keytab().to_string_lossy()), quoted(service.name()));
    format!(
        "Server {{\n  {KERBEROS_MODULE} required\n  useKeyTab=true\n  storeKey=true\n  isInitiator=false\n  \
         useTicketCache=false\n  keyTab={keytab}\n  principal={name}\n  ;\n}};\n"
    )
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', r"\\").replace('"', r#"\""#))
}

/// The file with the users and their passwords, which the system property of Java names.
pub(super) const LOGINS: &str = "logins.conf";

const SASL_PROVIDER: &str = "org.apache.zookeeper.server.auth.SASLAuthenticationProvider";

const LOGIN_MODULE: &str = "org.apache.zookeeper.server.auth.DigestLoginModule";

const KERBEROS_MODULE: &str = "com.sun.security.auth.module.Krb5LoginModule";

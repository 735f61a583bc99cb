//! The users of a real server, and its superuser.

use std::fmt;

/// The users that a server knows by their passwords, and the digest of its superuser.
#[derive(Clone, Default)]
pub(super) struct Logins {
    users: Vec<(String, String)>,
    superuser: Option<String>,
}

impl Logins {
    /// Adds a user.
    ///
    /// # Panics
    ///
    /// Panics if the file of the logins cannot contain the name or the password.
    pub(super) fn add(&mut self, name: &str, password: &str) {
        for text in [name, password] {
            let fits = !text.contains(char::is_control) && !text.contains("${");
            assert!(fits, "a name or a password has a control character or `${{`");
        }
        self.users.push((name.to_owned(), password.to_owned()));
    }

    /// Sets the digest of the superuser.
    ///
    /// # Panics
    ///
    /// Panics if it cannot be a value of a setting.
    pub(super) fn set_superuser(&mut self, digest: &str) {
        let fits = digest.chars().all(|character| character.is_ascii_graphic() && character != '\\');
        assert!(fits, "a digest has a character other than ASCII letters, digits and punctuation");
        self.superuser = Some(digest.to_owned());
    }

    /// Returns the settings of the server, which contain no password.
    pub(super) fn settings(&self) -> String {
        let provider = (!self.users.is_empty()).then(|| format!("authProvider.1={SASL_PROVIDER}\n"));
        let superuser = self.superuser.as_ref();
        let digest = superuser.map(|digest| format!("DigestAuthenticationProvider.superDigest={digest}\n"));
        [provider, digest].into_iter().flatten().collect()
    }

    /// Returns the file of the users, in the syntax of JAAS, if there are users.
    pub(super) fn file(&self) -> Option<String> {
        (!self.users.is_empty()).then(|| self.section("Server"))
    }

    /// Returns a section of a file of users. A server reads the one with the name `Server`.
    pub(super) fn section(&self, name: &str) -> String {
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

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', r"\\").replace('"', r#"\""#))
}

/// The file with the users and their passwords, which the system property of Java names.
pub(super) const LOGINS: &str = "logins.conf";

const SASL_PROVIDER: &str = "org.apache.zookeeper.server.auth.SASLAuthenticationProvider";

const LOGIN_MODULE: &str = "org.apache.zookeeper.server.auth.DigestLoginModule";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_passwords_are_quoted() {
        let mut logins = Logins::default();
        assert_eq!(logins.file(), None);
        assert_eq!(logins.settings(), "");
        logins.add("worker", r#"one"two\three"#);
        let file = logins.file().unwrap();
        assert!(file.contains(r#"  "user_worker"="one\"two\\three""#), "{file}");
    }

    #[test]
    #[should_panic(expected = "control character")]
    fn a_password_of_two_lines_is_refused() {
        Logins::default().add("worker", "one\ntwo");
    }
}

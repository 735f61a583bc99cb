//! The login by the mechanism DIGEST-MD5.

use zookeeper_client as zk;

/// A user and a password. The password is secret, so this type does not implement `Debug`.
#[derive(Clone)]
pub(crate) struct Digest {
    user: String,
    password: String,
}

impl Digest {
    /// Checks what the mechanism can carry. The error shows nothing of the password.
    pub(crate) fn new(user: &str, password: &str) -> Result<Self, &'static str> {
        if user.is_empty() {
            return Err("the user is empty");
        }
        // The client library does not escape the name, and servers disagree about other characters.
        if !user.chars().all(|c| c.is_ascii_graphic() && !matches!(c, '"' | '\\')) {
            return Err("the user has characters other than printable ASCII, or a quote or a backslash");
        }
        if password.is_empty() || !password.chars().all(|c| matches!(c, ' '..='~')) {
            return Err("the password is empty, or has characters other than printable ASCII");
        }
        Ok(Self { user: user.to_owned(), password: password.to_owned() })
    }

    pub(super) fn options(&self) -> zk::SaslOptions {
        zk::SaslOptions::digest_md5(self.user.clone(), self.password.clone()).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_that_the_mechanism_cannot_carry_is_refused() {
        assert!(Digest::new("billing@EXAMPLE", r#"a "secret" \ word: 1"#).is_ok());
        for (user, password) in [
            ("", "secret"),
            ("a b", "secret"),
            ("a\"", "secret"),
            ("ü", "secret"),
            ("a", ""),
            ("a", "sécret"),
        ] {
            let error = Digest::new(user, password).err().expect("it is refused");
            assert!(!error.contains("secret"), "{error}");
        }
    }
}

//! The login of a client by SASL.

use zookeeper_client as zk;

use super::failure::OpenError;

/// A user and a password for the mechanism DIGEST-MD5. The password is secret, so this type does not implement `Debug`.
#[derive(Clone)]
pub(crate) struct Login {
    user: String,
    password: String,
}

impl Login {
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

/// Returns an error if the servers did not log the client in. Servers without users accept any name, and know nobody
/// then.
pub(super) async fn check(client: &zk::Client) -> Result<(), OpenError> {
    match client.list_auth_users().await {
        Ok(users) if users.iter().any(|user| user.scheme() == SCHEME) => Ok(()),
        Ok(_) => Err(OpenError::AuthFailed),
        // Servers before 3.7 do not tell.
        Err(zk::Error::Unimplemented) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// The scheme of users who have logged in.
const SCHEME: &str = "sasl";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_that_the_mechanism_cannot_carry_is_refused() {
        assert!(Login::new("billing@EXAMPLE", r#"a "secret" \ word: 1"#).is_ok());
        for (user, password) in [
            ("", "secret"),
            ("a b", "secret"),
            ("a\"", "secret"),
            ("ü", "secret"),
            ("a", ""),
            ("a", "sécret"),
        ] {
            let error = Login::new(user, password).err().expect("it is refused");
            assert!(!error.contains("secret"), "{error}");
        }
    }
}

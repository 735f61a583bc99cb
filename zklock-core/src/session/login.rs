//! The login of a client by SASL.
//!
//! `gssapi` is the one by Kerberos.

#[cfg(feature = "sasl-gssapi")]
mod gssapi;

use zookeeper_client as zk;

#[cfg(feature = "sasl-gssapi")]
pub use self::gssapi::Gssapi;
#[cfg(feature = "sasl-gssapi")]
pub(crate) use self::gssapi::Kerberos;

/// The proof of a name. It may be secret, so this type does not implement `Debug`.
#[derive(Clone)]
pub(crate) enum Login {
    #[cfg(feature = "sasl-digest")]
    Digest(Digest),
    #[cfg(feature = "sasl-gssapi")]
    Gssapi(Kerberos),
}

impl Login {
    pub(super) fn options(&self) -> zk::SaslOptions {
        match self {
            #[cfg(feature = "sasl-digest")]
            Self::Digest(digest) => digest.options(),
            #[cfg(feature = "sasl-gssapi")]
            Self::Gssapi(kerberos) => kerberos.options(None),
        }
    }
}

/// A user and a password, for the mechanism DIGEST-MD5. The password is secret, so this type does not implement `Debug`.
#[cfg(feature = "sasl-digest")]
#[derive(Clone)]
pub(crate) struct Digest {
    user: String,
    password: String,
}

#[cfg(feature = "sasl-digest")]
impl Digest {
    /// Checks what the mechanism can carry. The error shows nothing of the password.
    pub(crate) fn new(login: &str) -> Result<Self, &'static str> {
        let (user, password) = login.split_once(':').ok_or("it is not `user:password`")?;
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

    fn options(&self) -> zk::SaslOptions {
        zk::SaslOptions::digest_md5(self.user.clone(), self.password.clone()).into()
    }
}

#[cfg(all(test, feature = "sasl-digest"))]
mod tests {
    use super::*;

    #[test]
    fn a_login_that_the_mechanism_cannot_carry_is_refused() {
        assert!(Digest::new(r#"billing@EXAMPLE:a "secret" \ word: 1"#).is_ok());
        for login in ["secret", ":secret", "a b:secret", "a\":secret", "ü:secret", "a:", "a:sécret"] {
            let error = Digest::new(login).err().expect("it is refused");
            assert!(!error.contains("secret"), "{error}");
        }
    }
}

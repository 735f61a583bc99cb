//! Users, certificates and authorities that a server has as of its next start.

use super::logins::{LOGINS, Logins};
#[cfg(feature = "tls")]
use super::secure;
use super::{ZooKeeper, write_private};
use crate::Error;
#[cfg(feature = "tls")]
use crate::{Authority, Identity};

impl ZooKeeper {
    /// Replaces all users by others, as of the next [`restart`](Self::restart). Each has a name and a password.
    ///
    /// The server must have been started with a user. Without any, it becomes a server that accepts every login and
    /// ignores it.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Io`] if the file cannot be written.
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

#[cfg(feature = "tls")]
impl ZooKeeper {
    /// Replaces the certificate and the key of the port with TLS, as of the next [`restart`](Self::restart).
    ///
    /// ZooKeeper 3.8.0 does not reload certificates, so clients get the old one until then.
    ///
    /// ```no_run
    /// use zklock_testkit::{Authority, Tls, Validity, ZooKeeper};
    ///
    /// let authority = Authority::new();
    /// let zookeeper = ZooKeeper::builder().tls(Tls::new(&authority)).start()?;
    /// let address = zookeeper.secure_address().ip().to_string();
    /// zookeeper.replace_certificate(&authority.identity([address], Validity::Expired))?;
    /// zookeeper.restart()?;
    /// # Ok::<(), zklock_testkit::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::Io`] if the file cannot be written.
    ///
    /// # Panics
    ///
    /// Panics if the server was started without TLS.
    pub fn replace_certificate(&self, identity: &Identity) -> Result<(), Error> {
        self.secure_port();
        secure::write_identity(identity, self.directory())
    }

    /// Replaces the authority whose client certificates the server accepts, as of the next
    /// [`restart`](Self::restart). The certificate of the server stays.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Io`] if the file cannot be written.
    ///
    /// # Panics
    ///
    /// Panics if the server was started without TLS.
    pub fn replace_authority(&self, authority: &Authority) -> Result<(), Error> {
        self.secure_port();
        secure::write_authority(authority, self.directory())
    }
}

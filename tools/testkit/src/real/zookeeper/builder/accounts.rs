//! The users of a real server.

use super::ZooKeeperBuilder;
use crate::Principal;

impl ZooKeeperBuilder {
    /// Adds a user who logs in with the mechanism DIGEST-MD5 of SASL. ACLs name the user as `sasl:NAME`.
    ///
    /// A server without any user accepts every login and ignores it. ZooKeeper 3.8.0 also accepts an unknown name with
    /// the password of the user who logged in last, so a test of a refused login needs a wrong password.
    ///
    /// ```no_run
    /// use zklock_testkit::ZooKeeper;
    ///
    /// let zookeeper = ZooKeeper::builder().user("worker", "secret").start()?;
    /// # Ok::<(), zklock_testkit::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// Panics if the name or the password has a control character or `${`, which Java would replace, or if the server has
    /// [Kerberos](Self::kerberos).
    pub fn user(mut self, name: &str, password: &str) -> Self {
        self.logins.add(name, password);
        self
    }

    /// Lets clients log in with the mechanism GSSAPI of SASL, which is Kerberos, instead of users with passwords.
    ///
    /// The server is this service, such as `zookeeper/localhost`. ACLs name a user as `sasl:NAME@REALM`.
    ///
    /// ```no_run
    /// use zklock_testkit::{Kdc, ZooKeeper};
    ///
    /// let kdc = Kdc::start()?;
    /// let zookeeper = ZooKeeper::builder().kerberos(&kdc.principal("zookeeper/localhost")?).start()?;
    /// # Ok::<(), zklock_testkit::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// Panics if the server has [users](Self::user): a server has one mechanism.
    pub fn kerberos(mut self, service: &Principal) -> Self {
        self.logins.set_kerberos(service);
        self
    }

    /// Makes clients superusers that prove the user and the password of this digest, as
    /// `zookeeper.DigestAuthenticationProvider.superDigest` does (default: there is no superuser).
    ///
    /// ACLs do not bind a superuser. A digest is `USER:BASE64(SHA1(USER:PASSWORD))`.
    ///
    /// ```no_run
    /// use zklock_testkit::ZooKeeper;
    ///
    /// // The password is `admin`.
    /// let digest = "super:xQJmxLMiHGwaqBvst5y6rkB6HQs=";
    /// let zookeeper = ZooKeeper::builder().superuser(digest).start()?;
    /// # Ok::<(), zklock_testkit::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// Panics if the digest has a character other than ASCII letters, digits and punctuation, or a backslash.
    pub fn superuser(mut self, digest: &str) -> Self {
        self.logins.set_superuser(digest);
        self
    }
}

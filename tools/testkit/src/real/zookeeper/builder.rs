//! The options of a real server, and its start.

use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;
use std::{fs, io};

use tempfile::TempDir;

use super::logins::{LOGINS, Logins};
#[cfg(feature = "tls")]
use super::secure::SecurePort;
use super::{ZooKeeper, write_private};
#[cfg(feature = "tls")]
use crate::Tls;
use crate::real::supervisor::{DIRECTORY_PREFIX, Supervisor, free_ports, start_on_free};
use crate::{Error, Installation, Principal};

/// The class that ZooKeeper's own script runs: a standalone server unless its settings name other servers.
const MAIN_CLASS: &str = "org.apache.zookeeper.server.quorum.QuorumPeerMain";

/// The options of the JVM. A small heap and a short start matter more than throughput.
const JVM_OPTIONS: [&str; 7] = [
    "-Xmx256m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:-UsePerfData",
    "-Xshare:auto",
    "-Dzookeeper.forceSync=no",
    "-Dzookeeper.jmx.log4j.disable=true",
];

/// The options of a [`ZooKeeper`].
#[derive(Debug, Clone)]
#[must_use = "nothing runs until `start` is called"]
pub struct ZooKeeperBuilder {
    pub(crate) installation: Option<Installation>,
    pub(crate) tick_time: Duration,
    pub(crate) min_session_timeout: Duration,
    pub(crate) max_session_timeout: Option<Duration>,
    pub(crate) properties: Vec<(String, String)>,
    logins: Logins,
    #[cfg(feature = "tls")]
    tls: Option<Tls>,
}

/// Implements the options that a server alone has, and each server of an ensemble.
macro_rules! options_of_servers {
    ($builder:ident $(, $server:ident)?) => {
        impl $builder {
            /// Runs this installation instead of the one that [`Installation::find_or_install`] returns.
            pub fn installation(mut self, installation: Installation) -> Self {
                self$(.$server)?.installation = Some(installation);
                self
            }

            /// Sets ZooKeeper's `tickTime` (default: 2 s); sessions expire only at multiples of it.
            pub fn tick_time(mut self, tick_time: Duration) -> Self {
                self$(.$server)?.tick_time = tick_time;
                self
            }

            /// Sets the shortest session timeout that a server grants (default: 1 s).
            pub fn min_session_timeout(mut self, timeout: Duration) -> Self {
                self$(.$server)?.min_session_timeout = timeout;
                self
            }

            /// Sets the longest session timeout that a server grants (default: 20 ticks).
            pub fn max_session_timeout(mut self, timeout: Duration) -> Self {
                self$(.$server)?.max_session_timeout = Some(timeout);
                self
            }

            /// Sets a Java system property, such as `znode.container.checkIntervalMs`.
            pub fn system_property(mut self, name: &str, value: &str) -> Self {
                self$(.$server)?.properties.push((name.to_owned(), value.to_owned()));
                self
            }
        }
    };
}
pub(crate) use options_of_servers;

options_of_servers!(ZooKeeperBuilder);

impl ZooKeeperBuilder {
    /// Opens a second port, whose clients use TLS: see
    /// [`secure_connect_string`](ZooKeeper::secure_connect_string).
    ///
    /// Both ports of such a server are served by Netty, and not by the code that serves the port of other servers. This
    /// needs the feature `tls`.
    #[cfg(feature = "tls")]
    pub fn tls(mut self, tls: Tls) -> Self {
        self.tls = Some(tls);
        self
    }

    /// Adds a user who logs in with the mechanism DIGEST-MD5 of SASL. ACLs name the user as `sasl:NAME`.
    ///
    /// A server without any user accepts every login and ignores it. ZooKeeper 3.8.0 also accepts an unknown name with
    /// the password of the user who logged in last, so a test of a refused login needs a wrong password.
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
    /// # Panics
    ///
    /// Panics if the digest has a character other than ASCII letters, digits and punctuation, or a backslash.
    pub fn superuser(mut self, digest: &str) -> Self {
        self.logins.set_superuser(digest);
        self
    }

    /// Starts the server and waits until it is ready; this blocks the thread.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Installation::find_or_install`]; [`Error::Exited`] or [`Error::NotReady`],
    /// which contain the end of the server's log; and [`Error::Io`] if the directory or the process cannot be
    /// created or no port is free.
    pub fn start(self) -> Result<ZooKeeper, Error> {
        self.start_at(|| free_ports(2))
    }

    /// Starts the server at the first of these addresses, and with TLS at the second one.
    fn start_at(
        self,
        mut next_addresses: impl FnMut() -> io::Result<Vec<SocketAddr>>,
    ) -> Result<ZooKeeper, Error> {
        let mut zookeeper = self.prepare(&self.find_installation()?)?;
        start_on_free(|| {
            let addresses = next_addresses().map_err(Error::io("find free ports"))?;
            let secure = self.open_secure_port(&mut zookeeper, addresses[1])?;
            self.configure(&mut zookeeper, addresses[0], &secure)?;
            zookeeper.restart()
        })?;
        Ok(zookeeper)
    }

    /// Gives the server a port with TLS, if it is to have one, and returns the settings of that port.
    #[cfg(feature = "tls")]
    fn open_secure_port(&self, zookeeper: &mut ZooKeeper, address: SocketAddr) -> Result<String, Error> {
        let Some(tls) = &self.tls else { return Ok(String::new()) };
        let port = SecurePort::create(tls, address, zookeeper.directory())?;
        let settings = port.settings(tls);
        zookeeper.secure = Some(port);
        Ok(settings)
    }

    #[cfg(not(feature = "tls"))]
    fn open_secure_port(&self, _: &mut ZooKeeper, _: SocketAddr) -> Result<String, Error> {
        Ok(String::new())
    }

    pub(crate) fn find_installation(&self) -> Result<Installation, Error> {
        self.installation.clone().map_or_else(Installation::find_or_install, Ok)
    }

    /// Creates a server that has neither an address nor a process yet.
    pub(crate) fn prepare(&self, installation: &Installation) -> Result<ZooKeeper, Error> {
        let directory = create_directory().map_err(Error::io("create the directory of the server"))?;
        if let Some(users) = self.logins.file() {
            write_private(&directory.path().join(LOGINS), &users).map_err(Error::io("write the users"))?;
        }
        let command = self.command(installation, directory.path())?;
        let supervisor = Supervisor::spawn(directory.path(), &command).map_err(Error::io("run /bin/sh"))?;
        Ok(ZooKeeper {
            address: (Ipv4Addr::LOCALHOST, 0).into(),
            connect_string: String::new(),
            #[cfg(feature = "tls")]
            secure: None,
            supervisor: Mutex::new(supervisor),
            directory,
        })
    }

    /// Writes the settings for the next start of a server: its address, and those that are `added`, such as the ones that
    /// all servers of an ensemble share.
    pub(crate) fn configure(
        &self,
        zookeeper: &mut ZooKeeper,
        address: SocketAddr,
        added: &str,
    ) -> Result<(), Error> {
        (zookeeper.address, zookeeper.connect_string) = (address, address.to_string());
        let settings = [&*self.settings(address), &*self.logins.settings(), added].concat();
        write_private(&zookeeper.directory().join("zoo.cfg"), &settings).map_err(Error::io("write zoo.cfg"))
    }

    fn command(&self, installation: &Installation, directory: &Path) -> Result<Vec<OsString>, Error> {
        // The settings of the logger come first, before any that a release contains.
        let entries = [directory.join("log")].into_iter().chain(installation.classpath().iter().cloned());
        let classpath = std::env::join_paths(entries)
            .map_err(|error| Error::io("join the class path")(io::Error::other(error)))?;
        let mut command = vec![OsString::from(installation.java())];
        command.extend(JVM_OPTIONS.map(OsString::from));
        command.extend(
            self.logins.file().map(|_| format!("-Djava.security.auth.login.config=./{LOGINS}").into()),
        );
        command.extend(self.logins.kerberos_config().map(|config| {
            let mut property = OsString::from("-Djava.security.krb5.conf=");
            property.push(config);
            property
        }));
        command.extend(self.properties.iter().map(|(name, value)| format!("-D{name}={value}").into()));
        command.extend(["-cp".into(), classpath]);
        command.extend([MAIN_CLASS, "./zoo.cfg"].map(OsString::from));
        Ok(command)
    }

    /// Returns the settings of a server alone.
    ///
    /// The paths are relative because Java reads the file as Latin-1, and the server runs in its directory.
    fn settings(&self, address: SocketAddr) -> String {
        let mut settings = vec![
            ("dataDir", "./data".to_owned()),
            ("clientPort", address.port().to_string()),
            ("clientPortAddress", address.ip().to_string()),
            ("maxClientCnxns", "0".to_owned()),
            ("tickTime", self.tick_time.as_millis().to_string()),
            ("minSessionTimeout", self.min_session_timeout.as_millis().to_string()),
            ("4lw.commands.whitelist", "*".to_owned()),
            ("admin.enableServer", "false".to_owned()),
        ];
        let max =
            self.max_session_timeout.map(|timeout| ("maxSessionTimeout", timeout.as_millis().to_string()));
        settings.extend(max);
        settings.iter().map(|(key, value)| format!("{key}={value}\n")).collect()
    }
}

impl ZooKeeper {
    /// Starts a server with the default options.
    pub fn start() -> Result<Self, Error> {
        Self::builder().start()
    }

    /// Returns a builder with the default options.
    pub fn builder() -> ZooKeeperBuilder {
        ZooKeeperBuilder {
            installation: None,
            tick_time: Duration::from_secs(2),
            min_session_timeout: Duration::from_secs(1),
            max_session_timeout: None,
            properties: Vec::new(),
            logins: Logins::default(),
            #[cfg(feature = "tls")]
            tls: None,
        }
    }
}

// Real servers need Java, which the tests without features do without.
#[cfg(all(test, feature = "tls"))]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_port_that_is_taken_is_replaced() {
        let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        for port in [0, 1] {
            let mut places = [(); 2].map(|()| free_ports(2).unwrap());
            places[0][port] = taken.local_addr().unwrap();
            let mut places = places.into_iter();
            let builder = ZooKeeper::builder().tls(Tls::new(&crate::Authority::new()));
            let zookeeper = builder.start_at(|| Ok(places.next().unwrap())).unwrap();
            assert!(
                ![zookeeper.address(), zookeeper.secure_address()].contains(&taken.local_addr().unwrap())
            );
            assert_eq!(zookeeper.four_letter("ruok").unwrap(), "imok");
        }
    }

    #[test]
    fn a_server_that_ends_at_once_shows_its_log() {
        let builder = ZooKeeper::builder().min_session_timeout(Duration::from_secs(60));
        let error = builder.max_session_timeout(Duration::from_secs(1)).start().unwrap_err();
        assert!(error.to_string().contains("minSessionTimeout"), "{error}");
    }
}

/// Creates a directory with the settings of the loggers.
fn create_directory() -> io::Result<TempDir> {
    let parent = std::path::absolute(std::env::temp_dir())?;
    let directory = tempfile::Builder::new().prefix(DIRECTORY_PREFIX).tempdir_in(parent)?;
    let log = directory.path().join("log");
    fs::create_dir(&log)?;
    for (name, content) in LOG_SETTINGS {
        fs::write(log.join(name), content)?;
    }
    Ok(directory)
}

/// The settings of the loggers that ZooKeeper may have: Debian's, that of 3.8 and later, and the older one.
const LOG_SETTINGS: [(&str, &str); 3] = [
    ("simplelogger.properties", include_str!("log/simplelogger.properties")),
    ("logback.xml", include_str!("log/logback.xml")),
    ("log4j.properties", include_str!("log/log4j.properties")),
];

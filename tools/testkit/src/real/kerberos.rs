//! A key distribution center of Kerberos as a child process.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tempfile::TempDir;

use crate::Error;
use crate::real::installation::Kerberos;
use crate::real::supervisor::{DIRECTORY_PREFIX, Supervisor, free_ports, start_on_free};
use crate::real::tail;

/// The realm, which no other one can be confused with.
const REALM: &str = "ZKLOCK.TEST";

/// A running key distribution center (KDC) of Kerberos, with a realm of its own.
///
/// It needs no root, listens only on the loopback interface, and keeps its database in a temporary directory. It ends
/// when this value is dropped or the process that owns it ends. Its methods block the calling thread.
///
/// Programs find it with the variable `KRB5_CONFIG`. Kerberos reads that and `KRB5CCNAME` from the environment of a
/// process, so a test of a client needs a child process.
///
/// ```no_run
/// use zklock_testkit::{Kdc, ZooKeeper};
///
/// let kdc = Kdc::start()?;
/// let service = kdc.principal("zookeeper/localhost")?;
/// let zookeeper = ZooKeeper::builder().kerberos(&service).start()?;
/// let worker = kdc.principal("worker")?;
/// let mut client = std::process::Command::new("a-client");
/// client.env("KRB5_CONFIG", kdc.config()).env("KRB5CCNAME", worker.ticket(&[])?);
/// # Ok::<(), zklock_testkit::Error>(())
/// ```
#[derive(Debug)]
pub struct Kdc {
    // Dropped before the directory, so that the server no longer writes to it.
    supervisor: Mutex<Supervisor>,
    files: Arc<Files>,
}

/// The directory of a realm, and the programs.
#[derive(Debug)]
struct Files {
    directory: TempDir,
    programs: Kerberos,
}

/// A user or a service of a realm. Its files go with the [`Kdc`].
#[derive(Clone, Debug)]
pub struct Principal {
    name: String,
    keytab: PathBuf,
    files: Arc<Files>,
}

impl Kdc {
    /// Starts a KDC, and waits until it is ready.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Missing`] if its programs are missing and cannot be installed, [`Error::Exited`] or
    /// [`Error::NotReady`] with the end of its log, and [`Error::Io`] if a program fails or no port is free.
    pub fn start() -> Result<Self, Error> {
        let programs = Kerberos::find_or_install()?;
        let parent = std::path::absolute(std::env::temp_dir()).map_err(Error::io("find a directory"))?;
        let directory = tempfile::Builder::new().prefix(DIRECTORY_PREFIX).tempdir_in(parent);
        let directory = directory.map_err(Error::io("create the directory of the KDC"))?;
        let files = Arc::new(Files { directory, programs });
        let mut command: Vec<OsString> = vec!["/usr/bin/env".into()];
        command.extend(files.variables().map(|(name, value)| {
            let mut variable = OsString::from(format!("{name}="));
            variable.push(value);
            variable
        }));
        command.extend([files.programs.kdc().into(), "-n".into()]);
        let supervisor = Supervisor::spawn(files.directory.path(), &command);
        let supervisor = Mutex::new(supervisor.map_err(Error::io("run /bin/sh"))?);
        let kdc = Self { supervisor, files };
        kdc.serve()?;
        Ok(kdc)
    }

    /// Returns the file for the variable `KRB5_CONFIG`.
    pub fn config(&self) -> PathBuf {
        self.files.config()
    }

    /// Creates a user such as `worker`, or a service such as `zookeeper/localhost`, with a random key.
    ///
    /// # Panics
    ///
    /// Panics if the name has a character other than letters, digits, `.`, `-` and `/`.
    pub fn principal(&self, name: &str) -> Result<Principal, Error> {
        let fits = |c: char| c.is_ascii_alphanumeric() || ".-/".contains(c);
        assert!(!name.is_empty() && name.chars().all(fits), "a principal has another character");
        let keytab = self.files.next_file("keytab");
        let export = format!("ktadd -q -k {} {name}", keytab.display());
        let query =
            |text: &str| self.files.run(&self.files.programs.admin, [OsStr::new("-q"), OsStr::new(text)]);
        // The program reports failures in its output alone.
        let created = query(&format!("addprinc -randkey {name}"))?.contains(" created.");
        if created {
            query(&export)?;
        }
        if !keytab.is_file() {
            let refused = io::Error::other(format!("kadmin.local created no principal {name}"));
            return Err(Error::io("create a principal")(refused));
        }
        Ok(Principal { name: format!("{name}@{REALM}"), keytab, files: self.files.clone() })
    }

    /// Stops the process (SIGSTOP), so that requests get no answer.
    pub fn pause(&self) -> Result<(), Error> {
        self.supervise(Supervisor::pause)
    }

    /// Continues the process (SIGCONT) after a [`pause`](Self::pause).
    pub fn resume(&self) -> Result<(), Error> {
        self.supervise(|supervisor| supervisor.signal("CONT"))
    }

    fn supervise(&self, signal: impl FnOnce(&mut Supervisor) -> io::Result<()>) -> Result<(), Error> {
        let mut supervisor = self.supervisor.lock().unwrap_or_else(PoisonError::into_inner);
        signal(&mut supervisor).map_err(Error::io("signal the KDC"))
    }

    /// Creates the database, and starts the process on a free port.
    fn serve(&self) -> Result<(), Error> {
        start_on_free(|| {
            let address = free_ports(1).map_err(Error::io("find a free port"))?[0];
            self.files.configure(address).map_err(Error::io("write the settings of the KDC"))?;
            if !self.files.path("principal").exists() {
                let arguments = ["create", "-r", REALM, "-s", "-P", "master"].map(OsStr::new);
                self.files.run(&self.files.programs.database, arguments)?;
            }
            let mut supervisor = self.supervisor.lock().unwrap_or_else(PoisonError::into_inner);
            supervisor.end_server().map_err(Error::io("end the KDC"))?;
            supervisor.start().map_err(Error::io("start the KDC"))?;
            let log = || fs::read_to_string(self.files.path("server.log")).unwrap_or_default();
            // It listens before it has everything else, so its log has to say so.
            let is_ready = || log().contains("commencing operation") && TcpStream::connect(address).is_ok();
            supervisor.wait_until_ready(is_ready, log)
        })
    }
}

impl Principal {
    /// Returns the name with its realm, such as `worker@ZKLOCK.TEST`; ACLs have it behind `sasl:`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the file with the key, for the variable `KRB5_CLIENT_KTNAME` or the settings of a server.
    pub fn keytab(&self) -> &Path {
        &self.keytab
    }

    /// Gets a ticket, with options of `kinit` such as `-l 1s` or `-f`, and returns a new cache for the variable
    /// `KRB5CCNAME`.
    pub fn ticket(&self, options: &[&str]) -> Result<PathBuf, Error> {
        let cache = self.files.next_file("cache");
        let mut arguments: Vec<&OsStr> = options.iter().map(OsStr::new).collect();
        arguments.extend(["-k", "-t"].map(OsStr::new));
        arguments.extend([self.keytab.as_os_str(), OsStr::new("-c"), cache.as_os_str()]);
        arguments.push(OsStr::new(&self.name));
        self.files.run(&self.files.programs.login, arguments)?;
        Ok(cache)
    }

    /// Returns the configuration of the realm.
    pub(crate) fn config(&self) -> PathBuf {
        self.files.config()
    }
}

impl Files {
    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn config(&self) -> PathBuf {
        self.path("krb5.conf")
    }

    /// Returns a file that does not exist yet.
    fn next_file(&self, kind: &str) -> PathBuf {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        self.path(&format!("{kind}-{}", NEXT.fetch_add(1, Ordering::Relaxed)))
    }

    /// Returns the variables that tell the programs of Kerberos where the realm is.
    fn variables(&self) -> [(&'static str, PathBuf); 2] {
        [("KRB5_CONFIG", self.config()), ("KRB5_KDC_PROFILE", self.path("kdc.conf"))]
    }

    /// Writes the settings. Neither DNS nor the settings of the machine have a part in them.
    fn configure(&self, address: SocketAddr) -> io::Result<()> {
        let client = format!(
            "[libdefaults]\n default_realm = {REALM}\n dns_lookup_kdc = false\n dns_lookup_realm = false\n \
             dns_canonicalize_hostname = false\n rdns = false\n forwardable = false\n\
             [realms]\n {REALM} = {{\n  kdc = {address}\n }}\n"
        );
        let [database, stash, acl] = ["principal", "stash", "acl"].map(|name| self.path(name));
        let server = format!(
            "[realms]\n {REALM} = {{\n  kdc_listen = {address}\n  kdc_tcp_listen = {address}\n  \
             database_name = {}\n  key_stash_file = {}\n  acl_file = {}\n }}\n[logging]\n kdc = STDERR\n",
            database.display(),
            stash.display(),
            acl.display()
        );
        fs::write(self.config(), client)?;
        fs::write(self.path("kdc.conf"), server)
    }

    /// Runs a program to its end, and returns its standard output.
    fn run<'a>(
        &self,
        program: &Path,
        arguments: impl IntoIterator<Item = &'a OsStr>,
    ) -> Result<String, Error> {
        let output = Command::new(program)
            .args(arguments)
            .envs(self.variables())
            .stdin(Stdio::null())
            .output()
            .map_err(Error::io("run a program of Kerberos"))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let (program, text) = (program.display(), String::from_utf8_lossy(&output.stderr).into_owned());
        let failed = io::Error::other(format!("{program} ended with {}: {}", output.status, tail(&text)));
        Err(Error::io("run a program of Kerberos")(failed))
    }
}

//! The configuration of the client: from the command line, the environment and a file, in this order.

use std::env::{self, VarError};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use serde::{Deserialize, Serialize};
use toml::{Table, Value};
use tracing_subscriber::filter::LevelFilter;
use zklock::Config;

use crate::exit::{Code, Failure};

/// The servers and the session. Passwords are read from variables or from files alone, because other users of a machine
/// can read the arguments of programs.
///
/// The fields that are serialized have the names and the values of settings.
#[derive(Args, Debug, Serialize)]
#[command(next_help_heading = "Connection")]
pub(crate) struct Connection {
    /// A file with settings, in TOML; the settings of the command line and of the environment replace them
    #[serde(skip)]
    #[arg(long, global = true, env = "ZKLOCK_CONFIG", hide_env_values = true, value_name = "FILE")]
    config: Option<PathBuf>,

    /// The servers and a chroot, such as `zk1:2181,zk2:2181/prod` [default: 127.0.0.1:2181]
    #[arg(long, global = true, env = "ZKLOCK_CONNECT", hide_env_values = true, value_name = "SERVERS")]
    connect: Option<String>,

    /// The path in front of all paths of locks
    #[arg(long, global = true, env = "ZKLOCK_NAMESPACE", hide_env_values = true, value_name = "PATH")]
    namespace: Option<String>,

    /// The name that others see [default: host, process and a random number]
    #[arg(long, global = true, env = "ZKLOCK_IDENTITY", hide_env_values = true, value_name = "NAME")]
    identity: Option<String>,

    /// The session timeout to ask for [default: 30s]
    #[arg(long, global = true, env = "ZKLOCK_SESSION_TIMEOUT", hide_env_values = true, value_name = "DURATION", value_parser = duration)]
    session_timeout: Option<String>,

    /// The longest wait for a server that opens a session [default: 10s]
    #[arg(long, global = true, env = "ZKLOCK_CONNECT_TIMEOUT", hide_env_values = true, value_name = "DURATION", value_parser = duration)]
    connect_timeout: Option<String>,

    /// The longest wait for the answer to a request [default: 10s]
    #[arg(long, global = true, env = "ZKLOCK_DEFAULT_WAIT", hide_env_values = true, value_name = "DURATION", value_parser = duration)]
    default_wait: Option<String>,

    /// How long a server may be silent [default: 2.5s]
    #[arg(long, global = true, env = "ZKLOCK_SERVER_TIMEOUT", hide_env_values = true, value_name = "DURATION", value_parser = duration)]
    server_timeout: Option<String>,

    /// The servers' `tickTime` [default: 2s]
    #[arg(long, global = true, env = "ZKLOCK_TICK_TIME", hide_env_values = true, value_name = "DURATION", value_parser = duration)]
    tick_time: Option<String>,

    /// The servers' `syncLimit` times `tickTime` [default: 10s]
    #[arg(long, global = true, env = "ZKLOCK_SYNC_LIMIT", hide_env_values = true, value_name = "DURATION", value_parser = duration)]
    sync_limit: Option<String>,

    /// A file with `user:password` in each line, by which access control lists know this client
    #[serde(skip)]
    #[arg(long, global = true, env = "ZKLOCK_DIGEST_FILE", hide_env_values = true, value_name = "FILE")]
    digest_file: Option<String>,

    /// A file with the `user:password` of a login by SASL
    #[arg(long, global = true, env = "ZKLOCK_SASL_DIGEST_FILE", hide_env_values = true, value_name = "FILE")]
    sasl_digest_file: Option<String>,

    /// The service of the servers in Kerberos, such as `zookeeper` or `zookeeper@host`, for a login with a ticket
    #[cfg(feature = "sasl-gssapi")]
    #[arg(long, global = true, env = "ZKLOCK_SASL_GSSAPI", hide_env_values = true, value_name = "SERVICE")]
    sasl_gssapi: Option<String>,

    /// A file with the authorities of the servers' certificates, which encrypts the connection
    #[serde(skip)]
    #[arg(long, global = true, env = "ZKLOCK_TLS_CA", hide_env_values = true, value_name = "FILE")]
    tls_ca: Option<String>,

    /// A file with the certificate of this client
    #[serde(skip)]
    #[arg(long, global = true, env = "ZKLOCK_TLS_CERTIFICATE", hide_env_values = true, value_name = "FILE")]
    tls_certificate: Option<String>,

    /// A file with the key of that certificate
    #[serde(skip)]
    #[arg(long, global = true, env = "ZKLOCK_TLS_KEY", hide_env_values = true, value_name = "FILE")]
    tls_key: Option<String>,

    /// The access to the nodes that are created: `open` for everyone, `creator_all` for the same credentials, or entries
    /// such as `sasl:billing:cdrwa;world:anyone:r`
    #[arg(long, global = true, env = "ZKLOCK_ACL", hide_env_values = true)]
    acl: Option<String>,

    /// The access to the nodes that are created above locks [default: as `--acl`]
    #[arg(long, global = true, env = "ZKLOCK_PARENT_ACL", hide_env_values = true, value_name = "ACL")]
    parent_acl: Option<String>,

    /// Logs to the standard error; twice for more
    #[serde(skip)]
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    verbose: u8,
}

impl Connection {
    /// Starts to log, if that was asked for.
    pub(crate) fn log<W: Write + Clone + Send + Sync + 'static>(&self, writer: W) {
        let level = match self.verbose {
            0 => return,
            1 => LevelFilter::INFO,
            _ => LevelFilter::DEBUG,
        };
        // A log that cannot be written is no reason to end.
        let log = tracing_subscriber::fmt().with_writer(move || writer.clone()).log_internal_errors(false);
        log.with_max_level(level).init();
    }

    /// Returns the configuration. Only it knows which settings and values are valid.
    pub(crate) fn config(&self) -> Result<Config, Failure> {
        Config::deserialize(Value::Table(self.merged()?)).map_err(|error| wrong(error.message()))
    }

    /// Returns the settings one by one, after the same check.
    pub(crate) fn settings(&self) -> Result<Settings, Failure> {
        Settings::of(&self.merged()?)
    }

    fn merged(&self) -> Result<Table, Failure> {
        let file = self.config.as_deref().map(read).transpose()?;
        self.over(file.unwrap_or_default(), |name| known(name, env::var(name)))
    }

    /// Puts the settings of the command line and of the environment over those of a file.
    fn over(
        &self,
        mut settings: Table,
        variable: impl Fn(&str) -> Result<Option<String>, Failure>,
    ) -> Result<Table, Failure> {
        let mut own = Table::try_from(self).map_err(|error| wrong(&error.to_string()))?;
        let variables = [
            ("sasl_digest", "ZKLOCK_SASL_DIGEST"),
            ("heartbeat", "ZKLOCK_HEARTBEAT"),
            ("warn_after", "ZKLOCK_WARN_AFTER"),
            // Without the feature, the configuration refuses the setting.
            #[cfg(not(feature = "sasl-gssapi"))]
            ("sasl_gssapi", "ZKLOCK_SASL_GSSAPI"),
            ("digests", "ZKLOCK_DIGEST"),
        ];
        for (name, from) in variables {
            own.extend(variable(from)?.map(|value| (name.to_owned(), value.into())));
        }
        // A login replaces that of the file, whichever form it has.
        if LOGINS.iter().any(|login| own.contains_key(*login)) {
            settings.retain(|name, _| !LOGINS.contains(&name));
        }
        settings.extend(own);
        let file = self.digest_file.clone().map(|file| Value::Array(vec![file.into()]));
        settings.extend(file.map(|file| ("digest_files".to_owned(), file)));
        let files = [("ca", &self.tls_ca), ("certificate", &self.tls_certificate), ("key", &self.tls_key)];
        let files =
            files.into_iter().filter_map(|(name, file)| Some((name.to_owned(), file.clone()?.into())));
        let files: Table = files.collect();
        if !files.is_empty()
            && let Value::Table(tls) = settings.entry("tls").or_insert_with(|| Table::new().into())
        {
            tls.extend(files);
        }
        settings.entry("connect").or_insert_with(|| LOCAL.into());
        Ok(settings)
    }
}

/// The settings of a session at each server. They have passwords, so this type does not implement `Debug`.
#[derive(Clone)]
pub(crate) struct Settings {
    /// Each as it was given, and as `HOST:PORT`.
    pub(crate) servers: Vec<(String, String)>,
    /// The chroot and the namespace; empty or a path.
    pub(crate) root: String,
    pub(crate) session_timeout: Duration,
    pub(crate) connect_timeout: Duration,
    pub(crate) default_wait: Duration,
    pub(crate) tick_time: Duration,
    pub(crate) sync_limit: Duration,
    all: Table,
}

impl Settings {
    /// Returns the configuration of a client of one server.
    pub(crate) fn config_of(&self, server: &str) -> Result<Config, Failure> {
        let mut one = self.all.clone();
        one.insert("connect".to_owned(), server.into());
        Config::deserialize(Value::Table(one)).map_err(|error| wrong(error.message()))
    }

    /// Tells whether the connections are encrypted.
    pub(crate) fn is_encrypted(&self) -> bool {
        self.all.contains_key("tls")
    }

    /// Reads the settings. Only the configuration knows which of them are valid.
    fn of(settings: &Table) -> Result<Self, Failure> {
        let config = Config::deserialize(Value::Table(settings.clone()));
        let (servers, root) = config.map_err(|error| wrong(error.message()))?.targets()?;
        let time = |name, default| {
            let time = settings.get(name).and_then(Value::as_str).map(humantime::parse_duration);
            time.and_then(Result::ok).unwrap_or_else(|| Duration::from_secs(default))
        };
        Ok(Self {
            servers,
            root,
            session_timeout: time("session_timeout", 30),
            connect_timeout: time("connect_timeout", 10),
            default_wait: time("default_wait", 10),
            tick_time: time("tick_time", 2),
            sync_limit: time("sync_limit", 10),
            all: settings.clone(),
        })
    }
}

/// Returns the value of a variable, if it is set.
fn known(name: &str, value: Result<String, VarError>) -> Result<Option<String>, Failure> {
    match value {
        Ok(value) => Ok(Some(value)),
        Err(VarError::NotPresent) => Ok(None),
        Err(VarError::NotUnicode(_)) => Err(wrong(&format!("`{name}` is not UTF-8"))),
    }
}

fn read(file: &Path) -> Result<Table, Failure> {
    let unread = |error| Failure::new(Code::Config, format!("cannot read {}: {error}", file.display()));
    let text = std::fs::read_to_string(file).map_err(unread)?;
    // The message of the parser shows the line, which may have a password.
    let line = |error: toml::de::Error| {
        let end = error.span().map_or(0, |span| span.start);
        let number = text[..end].matches('\n').count() + 1;
        format!("{}, line {number}: {}", file.display(), error.message())
    };
    text.parse().map_err(|error| Failure::new(Code::Config, line(error)))
}

fn wrong(reason: &str) -> Failure {
    Failure::new(Code::Config, format!("a setting is wrong: {reason}"))
}

/// Checks a text that the configuration reads as a duration.
fn duration(text: &str) -> Result<String, humantime::DurationError> {
    humantime::parse_duration(text).map(|_| text.to_owned())
}

/// The settings of a login, of which there may be one.
const LOGINS: [&str; 3] = ["sasl_digest", "sasl_digest_file", "sasl_gssapi"];
/// The server of somebody who tries zklock on their own machine.
const LOCAL: &str = "127.0.0.1:2181";

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;

    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Alone {
        #[command(flatten)]
        connection: Connection,
    }

    fn connection(arguments: &[&str]) -> Connection {
        Alone::parse_from([&["zklock"], arguments].concat()).connection
    }

    /// An environment without variables.
    fn bare(_: &str) -> Result<Option<String>, Failure> {
        Ok(None)
    }

    #[test]
    fn a_variable_that_is_not_utf8_is_refused_and_not_shown() {
        for wrong in ["ZKLOCK_DIGEST", "ZKLOCK_SASL_DIGEST", "ZKLOCK_HEARTBEAT", "ZKLOCK_WARN_AFTER"] {
            let variable = |name: &str| {
                let value = OsString::from_vec(b"secret\xff".to_vec());
                let value = (name == wrong).then_some(value).ok_or(VarError::NotPresent);
                known(name, value.and_then(|value| value.into_string().map_err(VarError::NotUnicode)))
            };
            let error = connection(&[]).over(Table::new(), variable).unwrap_err();
            assert_eq!(error.to_string(), format!("a setting is wrong: `{wrong}` is not UTF-8"));
        }
    }

    #[test]
    fn files_and_lists_come_from_the_command_line() {
        let arguments = [
            "--digest-file",
            "/d",
            "--tls-ca",
            "/ca",
            "--acl",
            "sasl:a:r; world:anyone:r",
            "--parent-acl",
            "open",
        ];
        let settings = connection(&arguments).over(Table::new(), bare).unwrap();
        assert_eq!(settings["digest_files"][0].as_str(), Some("/d"));
        assert_eq!(settings["tls"]["ca"].as_str(), Some("/ca"));
        assert_eq!(settings["parent_acl"].as_str(), Some("open"));
        Config::deserialize(Value::Table(settings)).unwrap();
        let file = "sasl_digest = 'a:b'\n[tls]\nca = '/a'\ncertificate = '/c'\nkey = '/k'".parse().unwrap();
        let settings =
            connection(&["--tls-ca", "/ca", "--sasl-digest-file", "/login"]).over(file, bare).unwrap();
        let tls = &settings["tls"];
        assert_eq!((tls["ca"].as_str(), tls["certificate"].as_str()), (Some("/ca"), Some("/c")));
        assert!(!settings.contains_key("sasl_digest") && settings.contains_key("sasl_digest_file"));
    }

    #[test]
    fn a_login_by_kerberos_replaces_that_of_the_file_and_needs_its_feature() {
        let file = "sasl_digest = 'a:b'".parse().unwrap();
        #[cfg(feature = "sasl-gssapi")]
        let settings = connection(&["--sasl-gssapi", "zookeeper@host"]).over(file, bare).unwrap();
        #[cfg(not(feature = "sasl-gssapi"))]
        let settings = connection(&[])
            .over(file, |name| Ok((name == "ZKLOCK_SASL_GSSAPI").then(|| "zookeeper@host".to_owned())))
            .unwrap();
        assert!(!settings.contains_key("sasl_digest"));
        let read = Config::deserialize(Value::Table(settings));
        assert_eq!(read.is_ok(), cfg!(feature = "sasl-gssapi"));
    }

    #[test]
    fn the_servers_are_read_from_the_list_one_by_one() {
        let settings = "connect = 'zk1, tcp://[::1]:2182,[::2]/prod'\nnamespace = '/app'".parse().unwrap();
        let settings = Settings::of(&settings).expect("the settings are valid");
        let expected = [("zk1", "zk1:2181"), ("tcp://[::1]:2182", "[::1]:2182"), ("[::2]", "[::2]:2181")];
        assert_eq!(settings.servers, expected.map(|(name, address)| (name.to_owned(), address.to_owned())));
        assert_eq!((settings.root.as_str(), settings.tick_time), ("/prod/app", Duration::from_secs(2)));
    }

    #[test]
    fn a_wrong_setting_is_named_and_a_password_is_not() {
        let settings = "sesion_timeout = '3s'\nconnect = 'a'".parse::<Table>().unwrap();
        let error = Config::deserialize(Value::Table(settings)).unwrap_err();
        assert!(wrong(error.message()).to_string().contains("unknown field `sesion_timeout`"), "{error}");
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("zklock.toml");
        std::fs::write(&file, "connect = 'a'\ndigests = ['user:topsecret'\n").unwrap();
        let message = read(&file).unwrap_err().to_string();
        assert!(message.contains("line ") && !message.contains("topsecret"), "{message}");
    }
}

//! Reads a configuration from environment variables.

use std::cell::RefCell;
use std::env::VarError;
use std::time::Duration;

use crate::client::connect_string::UNSET;
use crate::client::settings::{Queueing, Release};
#[cfg(feature = "tls")]
use crate::connection::tls::{Files, Tls};
use crate::error::LockError;
use crate::session::Heartbeat;

use super::acl::Acl;
use super::{Config, invalid};

impl Config {
    /// Reads the configuration from environment variables.
    ///
    /// `ZKLOCK_CONNECT` is required. The other variables are optional:
    ///
    /// * `ZKLOCK_NAMESPACE` and `ZKLOCK_IDENTITY`.
    /// * `ZKLOCK_SESSION_TIMEOUT`, `ZKLOCK_DEFAULT_WAIT`, `ZKLOCK_CONNECT_TIMEOUT`, `ZKLOCK_SERVER_TIMEOUT`,
    ///   `ZKLOCK_WARN_AFTER`, `ZKLOCK_TICK_TIME` and `ZKLOCK_SYNC_LIMIT`: durations such as `30s` or `1m 30s`.
    /// * `ZKLOCK_HEARTBEAT`: `write` or `read`.
    /// * `ZKLOCK_QUEUEING`: the number of grants and the time, such as `64, 50ms`.
    /// * `ZKLOCK_RELEASE`: `background` or `acknowledged`.
    /// * `ZKLOCK_DIGEST`: `user:password`. `ZKLOCK_DIGEST_FILE`: a file with one of these per line.
    /// * `ZKLOCK_SASL_DIGEST`: `user:password`, or `ZKLOCK_SASL_DIGEST_FILE`: a file with it. They need the feature
    ///   `sasl-digest`.
    /// * `ZKLOCK_SASL_GSSAPI`: the service of the servers in Kerberos, or `service@instance`. It needs the feature
    ///   `sasl-gssapi`.
    /// * `ZKLOCK_TLS_CA`, `ZKLOCK_TLS_CERTIFICATE` and `ZKLOCK_TLS_KEY`: files. They need the feature
    ///   `tls`, and the first one is necessary for the others.
    /// * `ZKLOCK_ACL`: `open`, `creator_all`, or the entries of [`Acl::Entries`] with `;` between them.
    ///   `ZKLOCK_PARENT_ACL`: the same, for the nodes above locks.
    ///
    /// Another variable whose name begins with `ZKLOCK_` is logged as a warning, and ignored. There is no warning
    /// for those of the command `zklock` (`ZKLOCK_CONFIG`, `ZKLOCK_PATH`, `ZKLOCK_TOKEN`) and of Kubernetes
    /// (`ZKLOCK_PORT…`, `ZKLOCK_SERVICE_…`).
    ///
    /// # Errors
    ///
    /// [`LockError::InvalidConfig`] names the variable that is missing, malformed or not UTF-8, or that needs a
    /// feature which is not enabled.
    pub fn from_env() -> Result<Self, LockError> {
        let known = RefCell::new(Vec::new());
        let config = Self::from_variables(&|name| {
            known.borrow_mut().push(name);
            match std::env::var(name) {
                Ok(value) => Ok(Some(value)),
                Err(VarError::NotPresent) => Ok(None),
                Err(VarError::NotUnicode(_)) => Err(invalid(name, "it is not UTF-8")),
            }
        })?;
        warn_of_unknown(&known.into_inner());
        Ok(config)
    }

    fn from_variables(value: Values<'_>) -> Result<Self, LockError> {
        let connect = value(CONNECT)?.ok_or_else(|| invalid(CONNECT, UNSET))?;
        let mut config = Self::new(connect);
        for (name, set) in SETTINGS {
            if let Some(text) = value(name)? {
                config = set(config, &text).map_err(|reason| invalid(name, reason))?;
            }
        }
        for (feature, is_there, names) in FEATURES {
            for name in names.iter().filter(|_| !is_there) {
                // A client that ignores a login or certificates would be another one to the servers, or unencrypted.
                if value(name)?.is_some() {
                    return Err(invalid(name, format!("it needs the feature `{feature}` of zklock")));
                }
            }
        }
        #[cfg(feature = "tls")]
        {
            config.tls = tls(value)?;
        }
        Ok(config)
    }
}

/// Returns the value of a variable.
type Values<'a> = &'a dyn Fn(&'static str) -> Result<Option<String>, LockError>;

/// Applies the value of a variable. The error is the reason why it is wrong.
type Set = fn(Config, &str) -> Result<Config, String>;

const CONNECT: &str = "ZKLOCK_CONNECT";

/// The variables that are one setting each.
const SETTINGS: &[(&str, Set)] = &[
    ("ZKLOCK_NAMESPACE", |config, text| Ok(config.namespace(text))),
    ("ZKLOCK_IDENTITY", |config, text| Ok(config.identity(text))),
    ("ZKLOCK_SESSION_TIMEOUT", |config, text| Ok(config.session_timeout(duration(text)?))),
    ("ZKLOCK_DEFAULT_WAIT", |config, text| Ok(config.default_wait(duration(text)?))),
    ("ZKLOCK_CONNECT_TIMEOUT", |config, text| Ok(config.connect_timeout(duration(text)?))),
    ("ZKLOCK_SERVER_TIMEOUT", |config, text| Ok(config.server_timeout(duration(text)?))),
    ("ZKLOCK_WARN_AFTER", |config, text| Ok(config.warn_after(duration(text)?))),
    ("ZKLOCK_TICK_TIME", |config, text| Ok(config.tick_time(duration(text)?))),
    ("ZKLOCK_SYNC_LIMIT", |config, text| Ok(config.sync_limit(duration(text)?))),
    ("ZKLOCK_HEARTBEAT", |config, text| {
        Ok(config.heartbeat(one_of(text, ("write", Heartbeat::Write), ("read", Heartbeat::Read))?))
    }),
    ("ZKLOCK_RELEASE", |config, text| {
        let background = ("background", Release::Background);
        Ok(config.release(one_of(text, background, ("acknowledged", Release::Acknowledged))?))
    }),
    ("ZKLOCK_QUEUEING", |config, text| Ok(config.queueing(queueing(text)?))),
    ("ZKLOCK_DIGEST", |config, text| Ok(Config { digests: vec![text.to_owned()], ..config })),
    ("ZKLOCK_DIGEST_FILE", |config, text| Ok(config.digest_file(text))),
    ("ZKLOCK_ACL", |config, text| Ok(config.acl(Acl::of_text(text)))),
    ("ZKLOCK_PARENT_ACL", |config, text| Ok(config.parent_acl(Acl::of_text(text)))),
    #[cfg(feature = "sasl-digest")]
    ("ZKLOCK_SASL_DIGEST", |config, text| Ok(Config { sasl_digest: vec![text.to_owned()], ..config })),
    #[cfg(feature = "sasl-digest")]
    ("ZKLOCK_SASL_DIGEST_FILE", |config, text| Ok(config.sasl_digest_file(text))),
    #[cfg(feature = "sasl-gssapi")]
    ("ZKLOCK_SASL_GSSAPI", |config, text| Ok(config.sasl_gssapi(text.parse()?))),
];

/// The features with variables of their own.
const FEATURES: [(&str, bool, &[&str]); 3] = [
    ("sasl-digest", cfg!(feature = "sasl-digest"), &["ZKLOCK_SASL_DIGEST", "ZKLOCK_SASL_DIGEST_FILE"]),
    ("sasl-gssapi", cfg!(feature = "sasl-gssapi"), &["ZKLOCK_SASL_GSSAPI"]),
    ("tls", cfg!(feature = "tls"), &["ZKLOCK_TLS_CA", "ZKLOCK_TLS_CERTIFICATE", "ZKLOCK_TLS_KEY"]),
];

#[cfg(feature = "tls")]
fn tls(value: Values<'_>) -> Result<Option<Tls>, LockError> {
    let file = |name| Ok(value(name)?.map(Into::into));
    match (file("ZKLOCK_TLS_CA")?, file("ZKLOCK_TLS_CERTIFICATE")?, file("ZKLOCK_TLS_KEY")?) {
        (None, None, None) => Ok(None),
        (None, ..) => Err(invalid("ZKLOCK_TLS_CA", "it is not set")),
        (Some(ca), certificate, key) => {
            let tls = Tls::try_from(Files { ca, certificate, key });
            tls.map(Some).map_err(|reason| invalid("ZKLOCK_TLS_CERTIFICATE", reason))
        }
    }
}

fn duration(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text)
        .map_err(|error| format!("{text:?} is not a duration such as `30s`: {error}"))
}

/// Reads one of two words.
fn one_of<T>(text: &str, (one, first): (&str, T), (other, second): (&str, T)) -> Result<T, String> {
    match text {
        text if text == one => Ok(first),
        text if text == other => Ok(second),
        text => Err(format!("{text:?} is neither `{one}` nor `{other}`")),
    }
}

fn queueing(text: &str) -> Result<Queueing, String> {
    let bounds = text.split_once(',').and_then(|(turns, within)| {
        let within = humantime::parse_duration(within.trim()).ok()?;
        Some(Queueing::new(turns.trim().parse().ok()?, within))
    });
    bounds.ok_or_else(|| format!("{text:?} is not a number of grants and a time such as `64, 50ms`"))
}

/// Logs a warning about each variable with the prefix of the settings that is neither known nor another program's.
fn warn_of_unknown(known: &[&str]) {
    let present = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    for variable in present.filter(|variable| is_unknown(variable, known)) {
        let nearest = nearest(&variable, known);
        tracing::warn!(variable, nearest, "a variable of the environment is not known");
    }
}

fn is_unknown(variable: &str, known: &[&str]) -> bool {
    let is_of_kubernetes = OF_KUBERNETES.iter().any(|prefix| variable.starts_with(prefix));
    let is_of_another = OF_THE_COMMAND.contains(&variable) || is_of_kubernetes;
    variable.starts_with(PREFIX) && !known.contains(&variable) && !is_of_another
}

/// Returns the known name that differs least, if it differs in few letters.
fn nearest<'a>(variable: &str, known: &[&'a str]) -> Option<&'a str> {
    let by_distance = known.iter().map(|name| (strsim::levenshtein(variable, name), *name));
    let (distance, name) = by_distance.min()?;
    (distance * 3 <= variable.len() - PREFIX.len()).then_some(name)
}

const PREFIX: &str = "ZKLOCK_";
/// The variables that the command `zklock` gives to programs, and the one that names its own file.
const OF_THE_COMMAND: [&str; 3] = ["ZKLOCK_CONFIG", "ZKLOCK_PATH", "ZKLOCK_TOKEN"];

/// The beginnings of the variables that Kubernetes gives to pods beside a service with the name `zklock`.
const OF_KUBERNETES: [&str; 2] = ["ZKLOCK_PORT", "ZKLOCK_SERVICE_"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Silence;

    fn from(variables: &[(&str, &str)]) -> Result<Config, LockError> {
        let value =
            |name: &str| variables.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned());
        Config::from_variables(&|name| Ok(value(name)))
    }

    #[test]
    fn every_setting_can_be_given() {
        let config = from(&[
            ("ZKLOCK_CONNECT", "a:1,b:2/chroot"),
            ("ZKLOCK_NAMESPACE", "/app"),
            ("ZKLOCK_SESSION_TIMEOUT", "1m 30s"),
            ("ZKLOCK_DEFAULT_WAIT", "5s"),
            ("ZKLOCK_CONNECT_TIMEOUT", "3s"),
            ("ZKLOCK_WARN_AFTER", "2m"),
            ("ZKLOCK_TICK_TIME", "500ms"),
            ("ZKLOCK_SYNC_LIMIT", "4s"),
            ("ZKLOCK_SERVER_TIMEOUT", "2s"),
            ("ZKLOCK_HEARTBEAT", "read"),
            ("ZKLOCK_QUEUEING", "8, 10ms"),
            ("ZKLOCK_RELEASE", "acknowledged"),
            ("ZKLOCK_DIGEST", "user:password"),
            ("ZKLOCK_ACL", "creator_all"),
            ("ZKLOCK_PARENT_ACL", "world:anyone:cr"),
            ("ZKLOCK_IDENTITY", "me"),
        ])
        .unwrap();
        assert_eq!(config.connect_timeout, Duration::from_secs(3));
        assert_eq!(config.warn_after, Duration::from_secs(120));
        let settings = config.validated().unwrap();
        assert_eq!(settings.root, "/chroot/app");
        assert_eq!(settings.default_wait, Duration::from_secs(5));
        assert_eq!(&*settings.identity, "me");
        assert_eq!(settings.queueing, Queueing::new(8, Duration::from_millis(10)));
        assert_eq!(settings.release, Release::Acknowledged);
        let opening = settings.opening;
        assert_eq!((opening.servers.as_str(), opening.timeout), ("a:1,b:2", Duration::from_secs(90)));
        assert_eq!(opening.silence, Silence::Fixed(Duration::from_secs(2)));
        assert_eq!(opening.heartbeat, Heartbeat::Read);
        assert_eq!((opening.tick, opening.sync_limit), (Duration::from_millis(500), Duration::from_secs(4)));
        assert_eq!(opening.security.digests, ["user:password"]);
        assert_eq!(opening.acls.own, Acl::CreatorAll.checked().unwrap());
        assert_eq!(opening.acls.parents, Acl::entries(["world:anyone:cr"]).checked().unwrap());
    }

    #[test]
    fn missing_or_malformed_variable_is_named() {
        for (name, text, message) in [
            ("PATH", "", "`ZKLOCK_CONNECT`: it is not set: name the servers, such as `zk1:2181"),
            ("ZKLOCK_DEFAULT_WAIT", "5", "`ZKLOCK_DEFAULT_WAIT`: \"5\" is not a duration such as `30s`"),
            (
                "ZKLOCK_QUEUEING",
                "task",
                "`ZKLOCK_QUEUEING`: \"task\" is not a number of grants and a time such as",
            ),
            ("ZKLOCK_QUEUEING", "8, 10", "`ZKLOCK_QUEUEING`: \"8, 10\" is not a number of grants and a time"),
            ("ZKLOCK_QUEUEING", "0,10ms", "`queueing`: a client needs at least one turn"),
            ("ZKLOCK_DIGEST_FILE", "/no/such/file", "`digest_files`: cannot read /no/such/file: "),
            (
                "ZKLOCK_PARENT_ACL",
                "world:anyone:x",
                "`parent_acl`: entry 1 has permissions other than some of",
            ),
        ] {
            let variables =
                if text.is_empty() { vec![] } else { vec![("ZKLOCK_CONNECT", "a"), (name, text)] };
            let config = from(&variables).and_then(Config::validated);
            let error = config.err().expect("a setting is wrong").to_string();
            assert!(error.starts_with(&format!("invalid setting {message}")), "{error}");
        }
    }

    #[cfg(all(feature = "sasl-digest", feature = "tls"))]
    #[test]
    fn a_login_and_certificates_can_be_given() {
        let error = |variables: &[(&str, &str)]| {
            let config = from(&[&[("ZKLOCK_CONNECT", "a:1")], variables].concat());
            config.and_then(Config::validated).err().expect("a setting is wrong").to_string()
        };
        let files = [("ZKLOCK_TLS_CA", "/ca"), ("ZKLOCK_TLS_CERTIFICATE", "/c"), ("ZKLOCK_TLS_KEY", "/k")];
        assert!(error(&files).starts_with("invalid setting `tls`: cannot read /ca: "));
        assert_eq!(
            error(&files[..2]),
            "invalid setting `ZKLOCK_TLS_CERTIFICATE`: a certificate needs its key"
        );
        assert_eq!(error(&files[1..]), "invalid setting `ZKLOCK_TLS_CA`: it is not set");
        assert!(error(&[("ZKLOCK_SASL_DIGEST_FILE", "/f")]).contains("`sasl_digest_file`: cannot read /f: "));
        assert!(error(&[("ZKLOCK_SASL_DIGEST", "secret")]).ends_with("number 1 is not `user:password`"));
    }

    #[cfg(feature = "sasl-gssapi")]
    #[test]
    fn a_login_by_kerberos_can_be_given() {
        let from = |text| from(&[("ZKLOCK_CONNECT", "a:1"), ("ZKLOCK_SASL_GSSAPI", text)]);
        let given = from("zk@host").unwrap().sasl_gssapi;
        assert_eq!(given, Some(crate::Gssapi::service("zk").instance("host")));
        let error = from("zk/host").unwrap_err().to_string();
        assert!(
            error.starts_with("invalid setting `ZKLOCK_SASL_GSSAPI`: the service is empty, or"),
            "{error}"
        );
    }

    #[cfg(not(any(feature = "sasl-digest", feature = "sasl-gssapi", feature = "tls")))]
    #[test]
    fn a_login_and_certificates_are_not_ignored() {
        for (name, feature) in [
            ("ZKLOCK_SASL_DIGEST_FILE", "sasl-digest"),
            ("ZKLOCK_SASL_GSSAPI", "sasl-gssapi"),
            ("ZKLOCK_TLS_CA", "tls"),
        ] {
            let error = from(&[("ZKLOCK_CONNECT", "a:1"), (name, "/file")]).unwrap_err().to_string();
            assert_eq!(
                error,
                format!("invalid setting `{name}`: it needs the feature `{feature}` of zklock")
            );
        }
    }

    const KNOWN: [&str; 3] = ["ZKLOCK_CONNECT", "ZKLOCK_CONNECT_TIMEOUT", "ZKLOCK_SESSION_TIMEOUT"];

    #[test]
    fn a_variable_that_no_program_has_is_unknown() {
        for unknown in ["ZKLOCK_SESION_TIMEOUT", "ZKLOCK_", "ZKLOCK_connect"] {
            assert!(is_unknown(unknown, &KNOWN), "{unknown}");
        }
        let of_kubernetes = ["ZKLOCK_PORT_2181_TCP_ADDR", "ZKLOCK_SERVICE_HOST"];
        assert!(!of_kubernetes.iter().any(|variable| is_unknown(variable, &KNOWN)));
        for known in ["ZKLOCK_CONNECT", "ZKLOCK_TOKEN", "ZKLOCK_PATH", "ZKLOCK_CONFIG", "PATH", "MY_ZKLOCK_X"]
        {
            assert!(!is_unknown(known, &KNOWN), "{known}");
        }
    }

    #[test]
    fn the_nearest_name_is_one_that_differs_in_few_letters() {
        for (variable, expected) in [
            ("ZKLOCK_SESION_TIMEOUT", Some("ZKLOCK_SESSION_TIMEOUT")),
            ("ZKLOCK_CONNECTTIMEOUT", Some("ZKLOCK_CONNECT_TIMEOUT")),
            ("ZKLOCK_CONECT", Some("ZKLOCK_CONNECT")),
            ("ZKLOCK_connect", None),
            ("ZKLOCK_HOSTS", None),
            ("ZKLOCK_", None),
        ] {
            assert_eq!(nearest(variable, &KNOWN), expected, "{variable}");
        }
    }
}

//! The names under which a server knows this client.

use std::fmt;

use serde_json::{Value, json};
use zookeeper_client as zk;

use super::question::Question;
use crate::connection::Credentials;

/// The finding about the credentials of this client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Login {
    /// The server knows the client by these names, each `scheme:user`.
    Accepted(Vec<String>),
    /// The server accepts the credentials, and knows no name of this scheme.
    Ignored(&'static str),
    /// The server refuses the credentials.
    Refused,
    /// The server does not tell, for this reason.
    Untold(String),
}

/// Asks for the names of this client. Returns `None` if it has no credentials.
///
/// A server before ZooKeeper 3.7 does not know the question, and closes the connection.
pub(super) async fn look(client: &zk::Client, credentials: Credentials, question: Question) -> Option<Login> {
    let schemes = schemes(credentials);
    if schemes.is_empty() {
        return None;
    }
    Some(match question.ask(async { Ok::<_, zk::Error>(client.list_auth_users().await) }).await {
        Ok(Ok(users)) => {
            let known = users.iter().map(|user| (user.scheme(), user.user()));
            of(&schemes, &known.collect::<Vec<_>>())
        }
        Ok(Err(zk::Error::Unimplemented)) => Login::Untold("ZooKeeper tells it from 3.7 on".to_owned()),
        Ok(Err(error)) => Login::Untold(error.to_string()),
        Err(reason) => Login::Untold(reason),
    })
}

fn schemes(credentials: Credentials) -> Vec<&'static str> {
    let Credentials { login, digests } = credentials;
    [(login, "sasl"), (digests, "digest")]
        .iter()
        .filter(|(is_given, _)| *is_given)
        .map(|(_, name)| *name)
        .collect()
}

/// Finds the names of these schemes among those by which the server knows the client.
fn of(schemes: &[&'static str], known: &[(&str, &str)]) -> Login {
    if let Some(missing) = schemes.iter().find(|scheme| known.iter().all(|(name, _)| name != *scheme)) {
        return Login::Ignored(missing);
    }
    let named = known.iter().filter(|(scheme, _)| schemes.contains(scheme));
    Login::Accepted(named.map(|(scheme, user)| format!("{scheme}:{user}")).collect())
}

impl Login {
    pub(super) fn advice(&self) -> Option<String> {
        match self {
            Self::Accepted(_) | Self::Untold(_) => None,
            Self::Ignored("sasl") => Some(
                "give this server the users of the others: it accepts any login, and knows nobody".to_owned(),
            ),
            Self::Ignored(scheme) => {
                Some(format!("find out why this server knows no name of the scheme {scheme}"))
            }
            Self::Refused => {
                Some("correct the credentials here, or the users or the keytab at the server".to_owned())
            }
        }
    }

    pub(super) fn json(&self) -> Value {
        match self {
            Self::Accepted(names) => json!({"state": "accepted", "names": names}),
            Self::Ignored(_) => json!({"state": "ignored"}),
            Self::Refused => json!({"state": "refused"}),
            Self::Untold(reason) => json!({"state": "unknown", "error": reason}),
        }
    }
}

impl fmt::Display for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Accepted(names) => write!(f, "accepted: {}", names.join(", ")),
            Self::Ignored(scheme) => write!(f, "ignored: the server knows no name of the scheme {scheme}"),
            Self::Refused => f.write_str("refused: the server does not accept the login"),
            Self::Untold(reason) => write!(f, "unknown: {reason}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_is_accepted_if_each_kind_of_credentials_has_a_name() {
        let known = [("ip", "127.0.0.1"), ("digest", "a"), ("digest", "b"), ("sasl", "worker")];
        let names = |names: &[&str]| Login::Accepted(names.iter().map(|name| (*name).to_owned()).collect());
        assert_eq!(of(&["sasl"], &known), names(&["sasl:worker"]));
        assert_eq!(of(&["sasl", "digest"], &known), names(&["digest:a", "digest:b", "sasl:worker"]));
        assert_eq!(of(&["sasl", "digest"], &known[..3]), Login::Ignored("sasl"));
    }
}

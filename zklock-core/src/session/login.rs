//! The login of a client by SASL.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;
use zookeeper_client as zk;

use super::fault::Fault;
use super::standing::Standing;
use super::{Health, Session};

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

/// Closes a session whose user the servers do not know any more after a reconnect.
///
/// A server that refuses a login ends the session for the client library. One without users accepts it, and goes on with
/// a client that is nobody.
pub(super) async fn keep_known(session: Arc<Session>) {
    let over = session.over.clone();
    if let Some(Standing::Unknown) = over.run_until_cancelled(until_unknown(&session)).await {
        tracing::warn!("the servers do not know the user of the login any more; its session is closed");
        session.close(CLOSE_WITHIN).await;
    }
}

/// Asks after each reconnect. Returns the answer after which nothing is asked any more.
async fn until_unknown(session: &Session) -> Standing {
    let mut links = session.links();
    let mut asked = links.borrow().epoch;
    loop {
        let restored = links.wait_for(|link| link.health == Health::Connected && link.epoch != asked);
        let Ok(epoch) = restored.await.map(|link| link.epoch) else { return Standing::Untold };
        match session.ops().standing().await {
            Ok(Standing::Known) => asked = epoch,
            Ok(ended) => return ended,
            Err(Fault::SessionOver) => return Standing::Untold,
            Err(_) => sleep(PAUSE).await,
        }
    }
}

/// The pause after a question without an answer.
const PAUSE: Duration = Duration::from_millis(100);
/// The bound on waiting for the guards of lost locks, and then for servers that do not answer.
const CLOSE_WITHIN: Duration = Duration::from_secs(2);

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

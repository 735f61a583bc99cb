//! The login of a client by SASL.
//!
//! * `digest` has a user and a password, for the mechanism DIGEST-MD5.
//! * `gssapi` names the service of the servers, and `tickets` has the tickets for it, for the mechanism GSSAPI.

#[cfg(feature = "sasl-digest")]
mod digest;
#[cfg(feature = "sasl-gssapi")]
mod gssapi;
#[cfg(feature = "sasl-gssapi")]
mod tickets;

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;
use zookeeper_client as zk;

use super::fault::Fault;
use super::standing::Standing;
use super::{Health, Session};

#[cfg(feature = "sasl-digest")]
pub(crate) use self::digest::Digest;
#[cfg(feature = "sasl-gssapi")]
pub use self::gssapi::Gssapi;
#[cfg(feature = "sasl-gssapi")]
pub(crate) use self::tickets::Tickets;

/// The proof of a name. It may be secret, so this type does not implement `Debug`.
#[derive(Clone)]
pub(crate) enum Login {
    #[cfg(feature = "sasl-digest")]
    Digest(Digest),
    #[cfg(feature = "sasl-gssapi")]
    Gssapi(Tickets),
}

impl Login {
    pub(super) fn options(&self) -> zk::SaslOptions {
        match self {
            #[cfg(feature = "sasl-digest")]
            Self::Digest(digest) => digest.options(),
            #[cfg(feature = "sasl-gssapi")]
            Self::Gssapi(tickets) => tickets.options(),
        }
    }
}

/// Closes a session whose user the servers do not know any more after a reconnect.
///
/// A server before 3.7 closes the connection on the question. Once one has done so, this session asks no more.
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

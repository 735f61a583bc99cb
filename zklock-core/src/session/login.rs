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

use zookeeper_client as zk;

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

//! A real server with TLS, users and a superuser, which all tests share.

use std::net::SocketAddr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use zklock::{Client, Config, Tls};
use zklock_testkit::{Authority, ClientCertificates, Identity, Validity, ZooKeeper};

use crate::SOON;

/// The passwords, which nothing may show.
pub(crate) const DIGEST_PASSWORD: &str = "dig3st-s3cret";
pub(crate) const SASL_PASSWORD: &str = "sas1-s3cret";
/// ZooKeeper's hash of `worker` with the password of the digest.
pub(crate) const DIGEST_ID: &str = "worker:obRoBCMSWzjgyOs+2LiBkNDirjk=";

/// A server with a plain and an encrypted port.
pub(crate) struct Secured {
    zookeeper: ZooKeeper,
    pub(crate) authority: Authority,
    worker: Identity,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transport {
    Plain,
    Encrypted,
    /// Encrypted, with a certificate of the client.
    Certified,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Credentials {
    Nothing,
    Digest,
    Login,
}

pub(crate) fn secured() -> &'static Secured {
    static SECURED: OnceLock<Secured> = OnceLock::new();
    SECURED.get_or_init(|| {
        let authority = Authority::new();
        let tls = zklock_testkit::Tls::new(&authority).client_certificates(ClientCertificates::Wanted);
        let zookeeper = ZooKeeper::builder().tls(tls).user("worker", SASL_PASSWORD);
        let zookeeper = zookeeper.max_session_timeout(SOON).start();
        let worker = authority.identity(["worker"], Validity::Now);
        Secured { zookeeper: zookeeper.expect("the server starts"), authority, worker }
    })
}

/// Returns a namespace that no other test has.
pub(crate) fn namespace() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("/secured-{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

impl Secured {
    pub(crate) fn config(&self, transport: Transport, credentials: Credentials, namespace: &str) -> Config {
        let config = match transport {
            Transport::Plain => Config::new(self.zookeeper.connect_string()),
            Transport::Encrypted => Config::new(self.zookeeper.secure_connect_string()).tls(self.tls()),
            Transport::Certified => {
                let tls = self.tls().identity_pem(self.worker.certificate_pem(), self.worker.key_pem());
                // A server without a scheme is encrypted, too.
                Config::new(self.zookeeper.secure_address().to_string()).tls(tls)
            }
        };
        let config = match credentials {
            Credentials::Nothing => config,
            Credentials::Digest => config.digest("worker", DIGEST_PASSWORD),
            Credentials::Login => config.sasl_digest("worker", SASL_PASSWORD),
        };
        // One cold server has all clients of all tests.
        config.namespace(namespace).default_wait(SOON).connect_timeout(SOON).session_timeout(SOON)
    }

    pub(crate) fn secure_address(&self) -> SocketAddr {
        self.zookeeper.secure_address()
    }

    pub(crate) fn plain_address(&self) -> SocketAddr {
        self.zookeeper.address()
    }

    pub(crate) fn tls(&self) -> Tls {
        Tls::ca_pem(self.authority.certificate_pem())
    }

    pub(crate) fn key(&self) -> &str {
        self.worker.key_pem()
    }

    pub(crate) async fn stranger(&self, namespace: &str) -> Client {
        let config = self.config(Transport::Plain, Credentials::Nothing, namespace);
        config.connect().await.expect("the server lets anybody connect")
    }
}

/// Returns the entry of an access control list for a client, with these permissions.
pub(crate) fn entry(transport: Transport, credentials: Credentials, permissions: &str) -> String {
    let id = match (credentials, transport) {
        (Credentials::Digest, _) => format!("digest:{DIGEST_ID}"),
        (Credentials::Login, _) => "sasl:worker".to_owned(),
        (Credentials::Nothing, Transport::Certified) => "x509:CN=worker".to_owned(),
        (Credentials::Nothing, _) => "world:anyone".to_owned(),
    };
    format!("{id}:{permissions}")
}

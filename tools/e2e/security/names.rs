//! Logins that are refused.

use zklock::{Config, LockError};
use zklock_testkit::{EmbeddedServer, ZooKeeper};

use crate::secured::{Credentials, DIGEST_PASSWORD, SASL_PASSWORD, Transport, namespace, secured};
use crate::{PATIENCE, failed, soon};

async fn assert_refused(config: Config) {
    let error = failed(soon(config.connect_timeout(PATIENCE).connect()).await);
    assert!(matches!(error, LockError::AuthFailed { .. }), "{error}");
}

#[tokio::test]
async fn a_wrong_password_is_refused_at_once() {
    for transport in [Transport::Plain, Transport::Encrypted] {
        let config = secured().config(transport, Credentials::Nothing, &namespace());
        assert_refused(config.sasl_digest("worker", "wrong")).await;
    }
}

#[tokio::test]
async fn a_server_that_knows_no_users_is_refused() {
    let (zookeeper, embedded) = (ZooKeeper::start().unwrap(), EmbeddedServer::start().unwrap());
    for servers in [zookeeper.connect_string(), embedded.connect_string()] {
        assert_refused(Config::new(servers).sasl_digest("worker", SASL_PASSWORD)).await;
    }
    assert!(embedded.sessions().is_empty(), "the session that was opened without a login is closed");
}

#[tokio::test]
async fn credentials_are_read_from_files_when_the_client_starts() {
    let (secured, namespace) = (secured(), namespace());
    let directory = tempfile::tempdir().unwrap();
    let (digests, login) = (directory.path().join("digests"), directory.path().join("login"));
    std::fs::write(&digests, format!("other:x\nworker:{DIGEST_PASSWORD}\n")).unwrap();
    std::fs::write(&login, format!("worker:{SASL_PASSWORD}\n")).unwrap();
    let config = secured.config(Transport::Plain, Credentials::Nothing, &namespace);
    let both = config.digest_file(&digests).sasl_digest_file(&login).acl(zklock::Acl::CreatorAll);
    let client = both.connect().await.unwrap();
    soon(client.mutex("/a").unwrap().lock()).await.unwrap().release().await.unwrap();
    // Each of the names is enough.
    for credentials in [Credentials::Digest, Credentials::Login] {
        let client = secured.config(Transport::Plain, credentials, &namespace).connect().await.unwrap();
        soon(client.mutex("/a").unwrap().lock()).await.unwrap().release().await.unwrap();
    }
}

//! Servers and clients that do not trust each other.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use zklock::{Config, LockError, Tls};
use zklock_testkit::{Authority, ClientCertificates, Identity, Validity, ZooKeeper};

use crate::secured::{Credentials, Transport, namespace, secured};
use crate::{PATIENCE, failed, soon};

/// Long enough for a server that has just started to refuse a client.
const COLD: Duration = Duration::from_secs(15);

fn trusting(zookeeper: &ZooKeeper, authority: &Authority) -> Config {
    with(zookeeper, Tls::ca_pem(authority.certificate_pem()))
}

fn with(zookeeper: &ZooKeeper, tls: Tls) -> Config {
    Config::new(zookeeper.secure_connect_string()).tls(tls).connect_timeout(PATIENCE)
}

/// Connecting and taking a lock fail at once with the reason.
async fn assert_refused(config: Config, reason: &str) {
    let error = failed(soon(config.clone().connect()).await);
    assert!(matches!(error, LockError::Tls { .. }), "{error}");
    assert!(error.to_string().contains(reason), "{reason}: {error}");
    let client = config.default_wait(PATIENCE).start().unwrap();
    let error = failed(soon(client.mutex("/a").unwrap().lock()).await.map(drop));
    assert!(matches!(error, LockError::Tls { .. }), "{error}");
}

#[tokio::test]
async fn a_server_of_another_authority_is_refused() {
    let secured = secured();
    let config = secured.config(Transport::Encrypted, Credentials::Nothing, &namespace());
    let other = Tls::ca_pem(Authority::new().certificate_pem());
    assert_refused(config.connect_timeout(PATIENCE).tls(other), "invalid peer certificate: ").await;
}

#[tokio::test]
async fn a_certificate_for_another_name_or_another_time_is_refused() {
    let authority = Authority::new();
    let elsewhere = authority.identity(["elsewhere.example"], Validity::Now);
    let tls = zklock_testkit::Tls::new(&authority).identity(&elsewhere);
    let zookeeper = ZooKeeper::builder().tls(tls).start().unwrap();
    assert_refused(trusting(&zookeeper, &authority), "certificate not valid for name").await;
    let ip = zookeeper.secure_address().ip().to_string();
    for (validity, reason) in
        [(Validity::Expired, "certificate expired"), (Validity::NotYet, "certificate not valid yet")]
    {
        zookeeper.replace_certificate(&authority.identity([ip.clone()], validity)).unwrap();
        zookeeper.restart().unwrap();
        assert_refused(trusting(&zookeeper, &authority), reason).await;
    }
}

#[tokio::test]
async fn a_client_without_a_required_certificate_is_refused_and_one_with_it_is_not() {
    let authority = Authority::new();
    let tls = zklock_testkit::Tls::new(&authority).client_certificates(ClientCertificates::Required);
    let zookeeper = ZooKeeper::builder().tls(tls).start().unwrap();
    let showing = |identity: &Identity| {
        let tls = Tls::ca_pem(authority.certificate_pem());
        with(&zookeeper, tls.identity_pem(identity.certificate_pem(), identity.key_pem()))
    };
    let address = zookeeper.secure_address().to_string();
    assert_refused(trusting(&zookeeper, &authority), &address).await;
    assert_refused(showing(&Authority::new().identity(["worker"], Validity::Now)), &address).await;
    assert_refused(showing(&authority.identity(["worker"], Validity::Expired)), &address).await;
    let client = soon(showing(&authority.identity(["worker"], Validity::Now)).connect()).await.unwrap();
    soon(client.mutex("/a").unwrap().lock()).await.unwrap().release().await.unwrap();
}

#[tokio::test]
async fn a_wrong_authority_is_told_although_another_server_is_down() {
    let secured = secured();
    let address = secured.secure_address();
    let other = Tls::ca_pem(Authority::new().certificate_pem());
    let config = Config::new(format!("127.0.0.1:1,{address}")).tls(other);
    let error = failed(soon(config.connect_timeout(COLD).connect()).await);
    let LockError::Connect { reason, .. } = &error else { panic!("{error}") };
    assert!(reason.contains("invalid peer certificate"), "{error}");
}

#[tokio::test]
async fn a_port_without_tls_is_told_from_one_that_is_down() {
    let zookeeper = ZooKeeper::start().unwrap();
    let tls = Tls::ca_pem(Authority::new().certificate_pem());
    let plain = zookeeper.connect_string();
    let cases = [
        (plain.to_owned(), Some("this is its port without TLS")),
        (format!("{plain},127.0.0.1:1"), Some("this is its port without TLS")),
        ("127.0.0.1:1".to_owned(), None),
    ];
    let cases = cases.map(async |(servers, told)| {
        let config = Config::new(&servers).tls(tls.clone()).connect_timeout(COLD);
        let error = failed(soon(config.connect()).await);
        let LockError::Connect { reason, .. } = &error else { panic!("{error}") };
        assert_eq!(told.is_some(), reason.contains(told.unwrap_or("TLS")), "{servers}: {error}");
    });
    join_all(cases).await;
}

#[tokio::test]
async fn a_server_that_is_silent_in_the_handshake_is_waited_for_until_the_bound() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let tls = Tls::ca_pem(Authority::new().certificate_pem());
    let config = Config::new(silent.local_addr().unwrap().to_string()).tls(tls);
    let begun = Instant::now();
    let error = failed(soon(config.connect_timeout(Duration::from_secs(2)).connect()).await);
    assert!(matches!(error, LockError::Connect { .. }), "{error}");
    assert!(begun.elapsed() >= Duration::from_secs(2));
}

#[tokio::test]
async fn certificates_that_cannot_be_used_are_refused_before_the_first_connection() {
    let authority = Authority::new();
    let (worker, other) =
        (authority.identity(["a"], Validity::Now), authority.identity(["b"], Validity::Now));
    let ca = || Tls::ca_pem(authority.certificate_pem());
    let list = "-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----\n";
    let wrong = [
        (Tls::ca_pem([authority.certificate_pem(), list].concat()), "the revocation lists: "),
        (Tls::ca_pem(worker.key_pem()), "the authorities: it has no certificate"),
        (
            ca().identity_pem(worker.certificate_pem(), other.key_pem()),
            "the key: keys may not be consistent: KeyMismatch",
        ),
        (ca().identity_pem("", worker.key_pem()), "the certificate: it has no certificate"),
        (
            ca().identity_pem(worker.certificate_pem(), ""),
            "the key: it has no private key, or an encrypted one",
        ),
        (ca().identity_files("/no/such/file", "/no/such/key"), "cannot read /no/such/file: "),
    ];
    for (tls, reason) in wrong {
        let error = failed(Config::new("a:1").tls(tls).start().map(drop)).to_string();
        assert!(error.starts_with(&format!("invalid setting `tls`: {reason}")), "{error}");
    }
}

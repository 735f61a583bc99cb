//! Encrypted connections, logins and access control lists.

use std::panic::catch_unwind;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::join;
use tokio::net::TcpListener;
use zklock::{Config, Tls};
use zklock_testkit::Authority;
use zookeeper_client as zk;

use super::peer::{Peer, SESSION};
use super::{ESCAPES, HOSTS, INLINE, REASONS, TOGETHER};
use crate::support::soon;

/// Returns a connector that trusts a new authority.
fn encrypting() -> zk::Connector {
    let authority = Authority::new();
    let ca = authority.certificate_pem();
    // The library needs a provider of cryptography, which the start of such a client installs.
    Config::new("127.0.0.1:1").tls(Tls::ca_pem(ca)).start().unwrap();
    let ca = zk::TlsCa::from_pem(ca).unwrap();
    let certificates = zk::TlsCerts::builder().with_ca(ca).build().unwrap();
    let connector = zk::Client::connector().with_session_timeout(Duration::from_secs(10)).with_fail_eagerly();
    connector.with_tls(zk::TlsOptions::default().with_certs(certificates))
}

#[tokio::test]
async fn a_refused_handshake_has_no_reason() {
    let server = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = server.local_addr().unwrap().to_string();
    let refusing = async {
        let (mut stream, _) = server.accept().await.unwrap();
        stream.read_exact(&mut [0; 1]).await.unwrap();
        // A fatal alert: the server does not know the authority of the client.
        stream.write_all(&[21, 3, 3, 0, 2, 2, 48]).await.unwrap();
        stream
    };
    let (refused, _stream) = soon(async { join!(encrypting().secure_connect(&address), refusing) }).await;
    let error = refused.expect_err("there is no session");
    let told = format!("{error} {error:?}");
    assert!(!told.contains("UnknownCA") && !told.contains("alert"), "{REASONS}: {told}");
}

#[tokio::test]
async fn a_host_that_no_certificate_can_name_is_a_panic() {
    let server = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    // The resolver knows this form of 127.0.0.1.
    let address = format!("127.1:{}", server.local_addr().unwrap().port());
    let connecting = tokio::spawn(async move { encrypting().secure_connect(&address).await.map(drop) });
    let ended = soon(connecting).await;
    assert!(ended.is_err_and(|error| error.is_panic()), "{HOSTS}");
}

#[tokio::test]
async fn the_name_of_a_login_is_not_escaped() {
    let peer = Peer::granting(Duration::from_secs(60)).await;
    let login = zk::SaslOptions::digest_md5(r#"a"b\c"#, "password");
    let connector = zk::Client::connector().with_sasl(login);
    let server = peer.address().to_string();
    let asking = async {
        let mut connection = peer.accept().await;
        connection.attach(SESSION).await;
        let challenge = br#"realm="r",nonce="n",qop="auth",charset=utf-8,algorithm=md5-sess"#;
        connection.challenge(challenge).await;
        connection.token().await
    };
    let token = soon(async {
        tokio::select! {
            connected = connector.connect(&server) => panic!("the login is not over: {:?}", connected.err()),
            token = asking => token,
        }
    });
    let token = String::from_utf8(token.await.to_vec()).unwrap();
    assert!(token.starts_with(r#"username="a"b\c","#), "{ESCAPES}: {token}");
}

#[tokio::test]
async fn an_answer_to_a_login_in_front_of_the_session_is_a_failure() {
    let peer = Peer::granting(Duration::from_secs(60)).await;
    let login = zk::SaslOptions::digest_md5("user", "password");
    let connector = zk::Client::connector().with_sasl(login).with_fail_eagerly();
    let server = peer.address().to_string();
    let answering = async {
        let mut connection = peer.accept().await;
        let challenge = br#"realm="r",nonce="n",qop="auth",charset=utf-8,algorithm=md5-sess"#;
        let _session = connection.request().await;
        connection.challenge(challenge).await;
        connection
    };
    let (refused, _connection) = soon(async { join!(connector.connect(&server), answering) }).await;
    let error = refused.expect_err("the answer is not that to the request for a session");
    assert_eq!(error, zk::Error::NoHosts, "{TOGETHER}");
}

#[test]
fn a_constant_list_panics_for_an_id_beyond_24_bytes() {
    const LONGEST: &str = "123456789012345678901234";
    const LONGER: &str = "1234567890123456789012345";
    zk::Acl::new_const(zk::Permission::ALL, "digest", LONGEST);
    assert!(catch_unwind(|| zk::Acl::new_const(zk::Permission::ALL, "digest", LONGER)).is_err(), "{INLINE}");
    assert!(catch_unwind(|| zk::AuthId::new_const(LONGER, "")).is_err(), "{INLINE}");
    assert_eq!(zk::AuthId::new("digest", LONGER).id(), LONGER);
}

//! Certificates that are replaced while a client runs.

use std::fs;
use std::process::Command;
use std::time::Duration;

use zklock::{Client, Config, LockError, MutexGuard, Tls};
use zklock_testkit::{Authority, ClientCertificates, Identity, Validity, ZooKeeper};

use crate::{PATIENCE, SOON, failed, soon, until};

/// The files of a client.
struct Files(tempfile::TempDir);

impl Files {
    fn write(&self, authority: &Authority, identity: &Identity) {
        // As a secret of Kubernetes is replaced: all files at once.
        for (name, text) in [
            ("ca.pem", authority.certificate_pem()),
            ("client.pem", identity.certificate_pem()),
            ("client.key", identity.key_pem()),
        ] {
            fs::write(self.0.path().join(name), text).unwrap();
        }
    }

    fn tls(&self) -> Tls {
        let file = |name| self.0.path().join(name);
        Tls::ca_file(file("ca.pem")).identity_files(file("client.pem"), file("client.key"))
    }
}

fn server(authority: &Authority) -> ZooKeeper {
    let tls = zklock_testkit::Tls::new(authority).client_certificates(ClientCertificates::Required);
    ZooKeeper::builder().tls(tls).max_session_timeout(SOON).start().unwrap()
}

/// Starts a server, and a client that holds a lock.
async fn holding() -> (Authority, ZooKeeper, Files, Client, MutexGuard) {
    let authority = Authority::new();
    let zookeeper = server(&authority);
    let files = Files(tempfile::tempdir().unwrap());
    files.write(&authority, &authority.identity(["worker"], Validity::Now));
    let config = Config::new(zookeeper.secure_connect_string()).tls(files.tls());
    let client = config.session_timeout(SOON).connect().await.unwrap();
    let guard = client.mutex("/a").unwrap().lock().await.unwrap();
    (authority, zookeeper, files, client, guard)
}

#[tokio::test]
async fn a_lock_outlives_a_new_certificate_of_the_server() {
    let (authority, zookeeper, files, client, guard) = holding().await;
    let session = client.session_id();

    // The client trusts both authorities while servers are replaced one by one, as operators do it.
    let next = Authority::new();
    let ip = zookeeper.secure_address().ip().to_string();
    let both = [authority.certificate_pem(), next.certificate_pem()].concat();
    fs::write(files.0.path().join("ca.pem"), both).unwrap();
    zookeeper.replace_certificate(&next.identity([ip], Validity::Now)).unwrap();
    zookeeper.restart().unwrap();
    until("the lock is proved again", async || guard.verify().await.is_ok()).await;
    assert_eq!(client.session_id(), session);
    guard.release().await.unwrap();
}

#[tokio::test]
async fn a_client_that_was_refused_connects_when_its_certificate_is_replaced() {
    let authority = Authority::new();
    let zookeeper = server(&authority);
    let files = Files(tempfile::tempdir().unwrap());
    files.write(&authority, &authority.identity(["worker"], Validity::Expired));
    let client = Config::new(zookeeper.secure_connect_string()).tls(files.tls()).start().unwrap();
    let mutex = client.mutex("/a").unwrap();
    let error = failed(soon(mutex.lock()).await.map(drop));
    assert!(matches!(error, LockError::Tls { .. }), "{error}");
    files.write(&authority, &authority.identity(["worker"], Validity::Now));
    until("the client has a lock", async || mutex.lock().await.is_ok()).await;
    // Files that cannot be used do no harm to a client that runs.
    fs::write(files.0.path().join("client.key"), "").unwrap();
    zookeeper.restart().unwrap();
    until("the client is connected again", async || client.readiness().is_ready()).await;
}

#[tokio::test]
async fn files_that_do_not_answer_delay_neither_a_reconnect_nor_the_end_of_a_client() {
    let (_, zookeeper, files, client, guard) = holding().await;
    // A pipe without a writer, which a reader waits for without an end.
    let ca = files.0.path().join("ca.pem");
    fs::remove_file(&ca).unwrap();
    assert!(Command::new("mkfifo").arg(&ca).status().unwrap().success());
    zookeeper.restart().unwrap();
    until("the lock is proved again", async || guard.verify().await.is_ok()).await;
    let session = client.session_id();
    // The first file that answers again is used: only it trusts the next certificate of the server.
    let (next, regular) = (Authority::new(), files.0.path().join("next.pem"));
    fs::write(&regular, next.certificate_pem()).unwrap();
    fs::rename(regular, ca).unwrap();
    let ip = zookeeper.secure_address().ip().to_string();
    zookeeper.replace_certificate(&next.identity([ip], Validity::Now)).unwrap();
    zookeeper.restart().unwrap();
    until("the lock is proved by the next certificate", async || guard.verify().await.is_ok()).await;
    assert_eq!(client.session_id(), session);
    guard.release().await.unwrap();
    soon(client.shutdown(Duration::ZERO)).await;
}

#[tokio::test]
async fn a_lock_outlives_a_new_certificate_of_its_client_and_files_that_are_half_written() {
    let (authority, zookeeper, files, client, guard) = holding().await;
    let (session, next) = (client.session_id(), Authority::new());

    // Half of the new files: a connection is made with the old certificate still.
    let renewed = next.identity(["worker"], Validity::Now);
    for (name, text) in [("client.pem", renewed.certificate_pem()), ("client.key", renewed.key_pem())] {
        fs::write(files.0.path().join(name), &text[..text.len() / 2]).unwrap();
    }
    guard.verify().await.unwrap();
    zookeeper.restart().unwrap();
    until("the lock is proved by the old certificate", async || guard.verify().await.is_ok()).await;
    // The certificate without its key is no better.
    fs::write(files.0.path().join("client.pem"), renewed.certificate_pem()).unwrap();
    zookeeper.restart().unwrap();
    until("the lock is proved by the old certificate", async || guard.verify().await.is_ok()).await;

    // From now on, the server refuses the old certificate.
    zookeeper.replace_authority(&next).unwrap();
    zookeeper.restart().unwrap();
    until("the client misses its connection", async || !client.readiness().is_ready()).await;
    files.write(&authority, &renewed);
    until("the lock is proved by the new certificate", async || guard.verify().await.is_ok()).await;
    assert_eq!(client.session_id(), session);
    until("the hold is confirmed", async || guard.is_held()).await;
    guard.release().await.unwrap();
}

#[tokio::test]
async fn a_server_that_is_revoked_is_refused_as_of_the_next_connection() {
    let authority = Authority::new();
    let zookeeper = server(&authority);
    let ip = zookeeper.secure_address().ip().to_string();
    let [old, new] = [(); 2].map(|()| authority.identity([ip.clone()], Validity::Now));
    zookeeper.replace_certificate(&old).unwrap();
    zookeeper.restart().unwrap();
    let files = Files(tempfile::tempdir().unwrap());
    files.write(&authority, &authority.identity(["worker"], Validity::Now));
    let list = |revoked: &[&Identity]| {
        let list = authority.revocation_list(revoked.iter().copied());
        fs::write(files.0.path().join("ca.pem"), [authority.certificate_pem(), &list].concat()).unwrap();
    };
    list(&[]);
    let config = Config::new(zookeeper.secure_connect_string()).tls(files.tls());
    let config = config.session_timeout(SOON).connect_timeout(PATIENCE);
    let client = config.clone().connect().await.unwrap();
    let (session, guard) = (client.session_id(), client.mutex("/a").unwrap().lock().await.unwrap());

    // The connection goes on. The next one is refused.
    list(&[&old]);
    guard.verify().await.unwrap();
    let error = failed(soon(config.clone().connect()).await);
    let LockError::Tls { reason, .. } = &error else { panic!("{error}") };
    assert!(reason.contains("invalid peer certificate: Revoked"), "{error}");
    zookeeper.restart().unwrap();
    until("the client misses its connection", async || !client.readiness().is_ready()).await;

    // With a new certificate of the server, the same session goes on.
    zookeeper.replace_certificate(&new).unwrap();
    zookeeper.restart().unwrap();
    until("the lock is proved again", async || guard.verify().await.is_ok()).await;
    assert_eq!(client.session_id(), session);
    guard.release().await.unwrap();
    list(&[&old, &new]);
    failed(soon(config.connect()).await);
}

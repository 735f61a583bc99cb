//! Certificates that are replaced while a client runs.

use std::fs;
use std::process::Command;
use std::time::Duration;

use zklock::{Config, LockError, Tls};
use zklock_testkit::{Authority, ClientCertificates, Identity, Validity, ZooKeeper};

use crate::{failed, soon, until};

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
    ZooKeeper::builder().tls(tls).max_session_timeout(Duration::from_secs(60)).start().unwrap()
}

#[tokio::test]
async fn a_lock_outlives_a_new_certificate_of_the_server() {
    let authority = Authority::new();
    let zookeeper = server(&authority);
    let files = Files(tempfile::tempdir().unwrap());
    files.write(&authority, &authority.identity(["worker"], Validity::Now));
    let config = Config::new(zookeeper.secure_connect_string()).tls(files.tls());
    let client = config.session_timeout(Duration::from_secs(60)).connect().await.unwrap();
    let session = client.session_id();
    let guard = client.mutex("/a").unwrap().lock().await.unwrap();

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
    let authority = Authority::new();
    let zookeeper = server(&authority);
    let files = Files(tempfile::tempdir().unwrap());
    files.write(&authority, &authority.identity(["worker"], Validity::Now));
    let config = Config::new(zookeeper.secure_connect_string()).tls(files.tls());
    let client = config.session_timeout(Duration::from_secs(60)).connect().await.unwrap();
    let guard = client.mutex("/a").unwrap().lock().await.unwrap();
    // A pipe without a writer, which a reader waits for without an end.
    let ca = files.0.path().join("ca.pem");
    fs::remove_file(&ca).unwrap();
    assert!(Command::new("mkfifo").arg(&ca).status().unwrap().success());
    zookeeper.restart().unwrap();
    until("the lock is proved again", async || guard.verify().await.is_ok()).await;
    guard.release().await.unwrap();
    soon(client.shutdown(Duration::ZERO)).await;
    // The thread that waits for the file ends, if there is one.
    drop(fs::File::options().read(true).write(true).open(ca).unwrap());
}

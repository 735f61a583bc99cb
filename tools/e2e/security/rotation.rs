//! Certificates that are replaced while a client runs.

use std::fs;
use std::process::Command;
use std::time::Duration;

use zklock::{Client, Config, LockError, MutexGuard, Tls};
use zklock_testkit::{Authority, ClientCertificates, Identity, Validity, ZooKeeper};

use crate::{PATIENCE, SOON, failed, soon, until};

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

struct Scene {
    authority: Authority,
    zookeeper: ZooKeeper,
    files: Files,
    client: Client,
    session: Option<i64>,
    guard: MutexGuard,
}

impl Scene {
    async fn new() -> Self {
        let authority = Authority::new();
        let zookeeper = server(&authority);
        let files = Files(tempfile::tempdir().unwrap());
        files.write(&authority, &authority.identity(["worker"], Validity::Now));
        let config = Config::new(zookeeper.secure_connect_string()).tls(files.tls());
        let client = config.session_timeout(SOON).connect().await.unwrap();
        let guard = client.mutex("/a").unwrap().lock().await.unwrap();
        let session = client.session_id();
        Self { authority, zookeeper, files, client, session, guard }
    }

    /// The server gets a certificate of this authority, and restarts.
    fn renew_server(&self, authority: &Authority) -> Identity {
        let ip = self.zookeeper.secure_address().ip().to_string();
        let identity = authority.identity([ip], Validity::Now);
        self.zookeeper.replace_certificate(&identity).unwrap();
        self.zookeeper.restart().unwrap();
        identity
    }

    async fn until_proved(&self) {
        until("the lock is proved again", async || self.guard.verify().await.is_ok()).await;
        assert_eq!(self.client.session_id(), self.session);
    }
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
    let scene = Scene::new().await;
    // A pipe without a writer, which a reader waits for without an end.
    let ca = scene.files.0.path().join("ca.pem");
    fs::remove_file(&ca).unwrap();
    assert!(Command::new("mkfifo").arg(&ca).status().unwrap().success());
    scene.zookeeper.restart().unwrap();
    scene.until_proved().await;
    // The first file that answers again is used: only it trusts the next certificate of the server. It trusts both
    // authorities, because operators replace servers one by one.
    let (next, regular) = (Authority::new(), scene.files.0.path().join("next.pem"));
    fs::write(&regular, [scene.authority.certificate_pem(), next.certificate_pem()].concat()).unwrap();
    fs::rename(regular, ca).unwrap();
    scene.renew_server(&next);
    scene.until_proved().await;
    scene.guard.release().await.unwrap();
    soon(scene.client.shutdown(Duration::ZERO)).await;
}

#[tokio::test]
async fn a_lock_outlives_a_new_certificate_of_its_client_and_files_that_are_half_written() {
    let (scene, next) = (Scene::new().await, Authority::new());

    // Half of the new files: a connection is made with the old certificate still.
    let renewed = next.identity(["worker"], Validity::Now);
    for (name, text) in [("client.pem", renewed.certificate_pem()), ("client.key", renewed.key_pem())] {
        fs::write(scene.files.0.path().join(name), &text[..text.len() / 2]).unwrap();
    }
    scene.guard.verify().await.unwrap();
    scene.zookeeper.restart().unwrap();
    scene.until_proved().await;
    // The certificate without its key is no better.
    fs::write(scene.files.0.path().join("client.pem"), renewed.certificate_pem()).unwrap();
    scene.zookeeper.restart().unwrap();
    scene.until_proved().await;

    // From now on, the server refuses the old certificate.
    scene.zookeeper.replace_authority(&next).unwrap();
    scene.zookeeper.restart().unwrap();
    until("the client misses its connection", async || !scene.client.readiness().is_ready()).await;
    scene.files.write(&scene.authority, &renewed);
    scene.until_proved().await;
    until("the hold is confirmed", async || scene.guard.is_held()).await;
    scene.guard.release().await.unwrap();
}

#[tokio::test]
async fn a_server_that_is_revoked_is_refused_as_of_the_next_connection() {
    let scene = Scene::new().await;
    let old = scene.renew_server(&scene.authority);
    let list = |revoked: &[&Identity]| {
        let list = scene.authority.revocation_list(revoked.iter().copied());
        let trusted = [scene.authority.certificate_pem(), &list].concat();
        fs::write(scene.files.0.path().join("ca.pem"), trusted).unwrap();
    };
    list(&[]);
    let config = Config::new(scene.zookeeper.secure_connect_string()).tls(scene.files.tls());
    let config = config.connect_timeout(PATIENCE);
    config.clone().connect().await.unwrap();
    scene.until_proved().await;

    // The connection goes on. The next one is refused.
    list(&[&old]);
    scene.guard.verify().await.unwrap();
    let error = failed(soon(config.clone().connect()).await);
    let LockError::Tls { reason, .. } = &error else { panic!("{error}") };
    assert!(reason.contains("invalid peer certificate: Revoked"), "{error}");
    scene.zookeeper.restart().unwrap();
    until("the client misses its connection", async || !scene.client.readiness().is_ready()).await;

    // With a new certificate of the server, the same session goes on.
    let new = scene.renew_server(&scene.authority);
    scene.until_proved().await;
    scene.guard.release().await.unwrap();
    list(&[&old, &new]);
    failed(soon(config.connect()).await);
}

//! Encrypted connections, and credentials in files.

use std::path::{Path, PathBuf};

use tempfile::TempDir;
use zklock_testkit::{Authority, ClientCertificates, Tls, Validity, ZooKeeper};

use crate::zklock::Zklock;

/// A server with TLS and a user, and the files of its clients.
struct Secure {
    zookeeper: ZooKeeper,
    directory: TempDir,
}

impl Secure {
    fn start() -> Self {
        let (authority, directory) = (Authority::new(), tempfile::tempdir().unwrap());
        let tls = Tls::new(&authority).client_certificates(ClientCertificates::Required);
        let zookeeper = ZooKeeper::builder().tls(tls).user("worker", "topsecret").start().unwrap();
        let worker = authority.identity(["worker"], Validity::Now);
        for (name, text) in [
            ("ca.pem", authority.certificate_pem()),
            ("other.pem", Authority::new().certificate_pem()),
            ("worker.pem", worker.certificate_pem()),
            ("worker.key", worker.key_pem()),
            ("login", "worker:topsecret\n"),
            ("wrong", "worker:secret\n"),
            ("digests", "a:topsecret\nb:topsecret\n"),
        ] {
            std::fs::write(directory.path().join(name), text).unwrap();
        }
        Self { zookeeper, directory }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn encrypted(&self, arguments: &str, ca: &Path) -> Zklock {
        let zklock = Zklock::new(arguments).env("ZKLOCK_CONNECT", self.zookeeper.secure_connect_string());
        let zklock = zklock.env("ZKLOCK_TLS_CERTIFICATE", self.file("worker.pem"));
        zklock.env("ZKLOCK_TLS_KEY", self.file("worker.key")).arg("--tls-ca").arg(ca)
    }
}

#[test]
fn a_program_runs_under_a_lock_at_an_encrypted_port() {
    let secure = Secure::start();
    let acl = "sasl:worker:cdrwa;world:anyone:r";
    let exec = secure.encrypted("exec /a", &secure.file("ca.pem")).arg("--acl").arg(acl);
    let exec = exec.arg("--sasl-digest-file").arg(secure.file("login"));
    let ended = exec.shell("cat /proc/$PPID/cmdline; echo; echo ran").run();
    assert_eq!((ended.code, ended.out.lines().last()), (0, Some("ran")), "{}", ended.err);
    assert!(!ended.out.contains("topsecret"));
    // A client without the login may look, and do nothing else.
    let listed = secure.encrypted("ls --json", &secure.file("ca.pem")).run();
    assert_eq!(listed.code, 0, "{}", listed.err);
    let denied = secure.encrypted("exec /a --no-wait", &secure.file("ca.pem")).shell("exit 0").run();
    assert_eq!(denied.code, 77, "{}", denied.err);
    assert!(denied.err.contains("may not create nodes there"), "{}", denied.err);
}

#[test]
fn participants_that_may_not_be_seen_are_a_refusal() {
    let secure = Secure::start();
    for lock in ["/a", "/pool --permits 1 --of 2"] {
        refuses_to_show(&secure, lock);
    }
}

/// Checks that a client that may read no node of a held lock is told so.
fn refuses_to_show(secure: &Secure, lock: &str) {
    let ca = secure.file("ca.pem");
    let held = secure.encrypted(&format!("exec {lock}"), &ca);
    let held = held.arg("--acl").arg("sasl:worker:cdrwa;world:anyone:d");
    let held = held.arg("--sasl-digest-file").arg(secure.file("login"));
    let mut running = held.shell("echo held; exec sleep 1000").start();
    assert_eq!(running.line(), "held");
    let path = lock.split(' ').next().unwrap();
    for arguments in [format!("who {path}"), format!("break {path} --yes")] {
        let denied = secure.encrypted(&arguments, &ca).run();
        assert_eq!(denied.code, 77, "{arguments}: {} {}", denied.out, denied.err);
        assert!(
            denied.err.contains(path) && denied.err.contains("may not read nodes there"),
            "{}",
            denied.err
        );
    }
    running.signal(nix::sys::signal::Signal::SIGTERM);
}

/// The lists of the nodes of a semaphore differ if clients with different settings created them.
#[test]
fn permits_that_may_not_be_seen_are_a_refusal_although_the_semaphore_may() {
    let secure = Secure::start();
    let ca = secure.file("ca.pem");
    let open = secure.encrypted("exec /pool --permits 1 --of 2", &ca).shell("exit 0").run();
    assert_eq!(open.code, 0, "{}", open.err);
    let held = secure.encrypted("exec /pool --permits 1 --of 2", &ca);
    let held = held.arg("--acl").arg("sasl:worker:cdrwa");
    let held = held.arg("--sasl-digest-file").arg(secure.file("login"));
    let mut running = held.shell("echo held; exec sleep 1000").start();
    assert_eq!(running.line(), "held");
    let denied = secure.encrypted("who /pool", &ca).run();
    assert_eq!(denied.code, 77, "{} {}", denied.out, denied.err);
    assert!(
        denied.err.contains("/pool") && denied.err.contains("may not read nodes there"),
        "{}",
        denied.err
    );
    running.signal(nix::sys::signal::Signal::SIGTERM);
}

#[test]
fn a_connection_that_is_not_trusted_is_refused_with_its_reason() {
    let secure = Secure::start();
    for arguments in ["exec /a", "doctor"] {
        let refused = secure.encrypted(arguments, &secure.file("other.pem"));
        let refused = if arguments == "doctor" { refused.run() } else { refused.shell("exit 0").run() };
        let code = if arguments == "doctor" { 69 } else { 77 };
        assert_eq!(refused.code, code, "{} {}", refused.out, refused.err);
        let told = [refused.out, refused.err].concat();
        assert!(told.contains("invalid peer certificate"), "{told}");
    }
    let good = secure.encrypted("doctor --tick-time 2s --json", &secure.file("ca.pem")).run();
    let report: serde_json::Value = serde_json::from_str(&good.out).unwrap();
    assert!(report["session"]["granted_ms"].is_number(), "{} {}", good.out, good.err);
}

#[test]
fn a_doctor_says_whether_the_servers_accept_the_credentials() {
    let secure = Secure::start();
    let look = |login: &str| {
        let zklock = Zklock::new("doctor --session-timeout 40s");
        let zklock = zklock.env("ZKLOCK_CONNECT", secure.zookeeper.connect_string());
        zklock.arg("--sasl-digest-file").arg(secure.file(login)).run()
    };
    // A server with encrypted ports answers the login of every third connection before its session.
    let good = [(); 4].map(|()| look("login"));
    for good in &good {
        assert!(good.out.contains("  access      at /: create granted"), "{}", good.out);
    }
    let wrong = look("wrong");
    assert_eq!(wrong.code, 69, "{}", wrong.err);
    assert!(wrong.out.contains("to change   correct the credentials here"), "{}", wrong.out);

    // A server without users accepts any login.
    secure.zookeeper.replace_users([]).unwrap();
    secure.zookeeper.restart().unwrap();
    let ignored = look("wrong");
    assert_eq!(ignored.code, 69, "{}", ignored.err);
    assert!(ignored.out.contains("to change   correct the credentials here"), "{}", ignored.out);
    for ended in good.into_iter().chain([wrong, ignored]) {
        assert!(!ended.out.contains("secret") && !ended.err.contains("secret"));
    }
}

#[test]
fn a_wrong_login_and_files_that_cannot_be_used_are_refused() {
    let secure = Secure::start();
    let plain = |file: &str| {
        let zklock = Zklock::new("exec /a").env("ZKLOCK_CONNECT", secure.zookeeper.connect_string());
        zklock.arg("--sasl-digest-file").arg(secure.file(file)).shell("exit 0").run()
    };
    assert_eq!(plain("login").code, 0);
    let wrong = plain("wrong");
    assert_eq!(wrong.code, 77, "{}", wrong.err);
    let several = plain("digests");
    assert_eq!(several.code, 78, "{}", several.err);
    assert!(
        several.err.contains("`sasl_digest`: there are several") && !several.err.contains("topsecret"),
        "{}",
        several.err
    );
    let digests = Zklock::new("exec /a --acl creator_all");
    let digests = digests.env("ZKLOCK_CONNECT", secure.zookeeper.connect_string());
    let digests = digests.env("ZKLOCK_DIGEST_FILE", secure.file("digests")).shell("exit 0").run();
    assert_eq!(digests.code, 0, "{}", digests.err);
}

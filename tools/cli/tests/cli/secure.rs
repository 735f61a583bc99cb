//! Encrypted connections, and credentials in files.

use std::path::PathBuf;

use nix::sys::signal::Signal;
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

    fn encrypted(&self, arguments: &str, ca: &str) -> Zklock {
        let zklock = Zklock::new(arguments).env("ZKLOCK_CONNECT", self.zookeeper.secure_connect_string());
        let zklock = zklock.env("ZKLOCK_TLS_CERTIFICATE", self.file("worker.pem"));
        zklock.env("ZKLOCK_TLS_KEY", self.file("worker.key")).env("ZKLOCK_TLS_CA", self.file(ca))
    }

    /// Returns the command with the login of a user, whose nodes have this access.
    fn as_worker(&self, arguments: &str, acl: &str) -> Zklock {
        let zklock = self.encrypted(arguments, "ca.pem").arg("--acl").arg(acl);
        zklock.arg("--sasl-digest-file").arg(self.file("login"))
    }

    /// Returns the command without TLS, with a login from a file.
    fn plain(&self, arguments: &str, login: &str) -> Zklock {
        let zklock = Zklock::new(arguments).env("ZKLOCK_CONNECT", self.zookeeper.connect_string());
        zklock.arg("--sasl-digest-file").arg(self.file(login))
    }

    /// Checks that a client without the login is denied.
    #[track_caller]
    fn assert_denied(&self, arguments: &str, reason: &str) {
        let denied = self.encrypted(arguments, "ca.pem").ends(77);
        assert!(denied.err.contains(reason), "{arguments}: {}", denied.err);
    }
}

#[test]
fn a_program_runs_under_a_lock_at_an_encrypted_port() {
    let secure = Secure::start();
    let exec = secure.as_worker("exec /a", "sasl:worker:cdrwa;world:anyone:r");
    let ended = exec.shell("cat /proc/$PPID/cmdline; echo; echo ran").run();
    assert_eq!((ended.code, ended.out.lines().last()), (0, Some("ran")), "{}", ended.err);
    assert!(!ended.out.contains("topsecret"));
    // A client without the login may look, and do nothing else.
    secure.encrypted("ls --json", "ca.pem").ends(0);
    secure.assert_denied("exec /a --no-wait -- true", "may not create nodes there");
}

/// Each case has the options of a lock, the access to its nodes, and whether others have made its parents before: the lists
/// of the nodes of a semaphore differ then.
#[test]
fn participants_that_may_not_be_seen_are_a_refusal() {
    let secure = Secure::start();
    for (lock, acl, is_open) in [
        ("/a", "sasl:worker:cdrwa;world:anyone:d", false),
        ("/pool --permits 1 --of 2", "sasl:worker:cdrwa;world:anyone:d", false),
        ("/open-pool --permits 1 --of 2", "sasl:worker:cdrwa", true),
    ] {
        if is_open {
            assert_eq!(secure.encrypted(&format!("exec {lock} -- true"), "ca.pem").run().code, 0);
        }
        let held = secure.as_worker(&format!("exec {lock}"), acl);
        let mut running = held.shell("echo held; exec sleep 1000").start();
        assert_eq!(running.line(), "held");
        let path = lock.split(' ').next().unwrap();
        for arguments in [format!("who {path}"), format!("break {path} --yes")] {
            secure.assert_denied(&arguments, path);
            secure.assert_denied(&arguments, "may not read nodes there");
        }
        running.signal(Signal::SIGTERM);
    }
}

#[test]
fn a_connection_that_is_not_trusted_is_refused_with_its_reason() {
    let secure = Secure::start();
    for (arguments, code) in [("exec /a -- true", 77), ("doctor", 69)] {
        let refused = secure.encrypted(arguments, "other.pem").ends(code);
        let told = [refused.out, refused.err].concat();
        assert!(told.contains("invalid peer certificate"), "{told}");
    }
    let good = secure.encrypted("doctor --tick-time 2s --json", "ca.pem").run();
    let report: serde_json::Value = serde_json::from_str(&good.out).unwrap();
    assert!(report["session"]["granted_ms"].is_number(), "{} {}", good.out, good.err);
}

#[test]
fn a_doctor_says_whether_the_servers_accept_the_credentials() {
    let secure = Secure::start();
    let look = |login: &str, codes: &[i32], line: &str| {
        let ended = secure.plain("doctor --session-timeout 40s", login).run();
        assert!(codes.contains(&ended.code), "{} {}", ended.code, ended.err);
        assert!(ended.out.contains(line), "{}", ended.out);
        assert!(!ended.out.contains("secret") && !ended.err.contains("secret"));
    };
    // A server with encrypted ports answers the login of every third connection before its session.
    for _ in 0..4 {
        look("login", &[0, 78], "  access      at /: create granted");
    }
    look("wrong", &[69], "to change   correct the credentials here");
    // A server without users accepts any login.
    secure.zookeeper.replace_users([]).unwrap();
    secure.zookeeper.restart().unwrap();
    look("wrong", &[69], "to change   correct the credentials here");
}

#[test]
fn a_wrong_login_and_files_that_cannot_be_used_are_refused() {
    let secure = Secure::start();
    for (login, code) in [("login", 0), ("wrong", 77), ("digests", 78)] {
        let ended = secure.plain("exec /a", login).shell("exit 0").ends(code);
        assert!(!ended.err.contains("topsecret"), "{}", ended.err);
        assert_eq!(
            ended.err.contains("`sasl_digest`: there are several"),
            login == "digests",
            "{}",
            ended.err
        );
    }
    let digests = Zklock::new("exec /a --acl creator_all");
    let digests = digests.env("ZKLOCK_CONNECT", secure.zookeeper.connect_string());
    digests.env("ZKLOCK_DIGEST_FILE", secure.file("digests")).shell("exit 0").ends(0);
}

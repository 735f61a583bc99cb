//! Logins by Kerberos, with a key distribution center of the tests' own.
//!
//! The Kerberos library reads its settings from the environment of a process, so each client is an [`agent`].

mod agent;
mod outage;
mod refused;

use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;

use zklock_testkit::{Authority, Kdc, Principal, ZooKeeper};
use zookeeper_client as zk;

use self::agent::Agent;
use crate::secrets::forms;
use crate::secured::namespace;
use crate::{SOON, soon};

/// The digest of a superuser, whose password is `admin`.
const SUPERUSER: &str = "super:xQJmxLMiHGwaqBvst5y6rkB6HQs=";
/// The service of the server, and its instance.
const SERVICE: &str = "zookeeper@localhost";

/// A realm, and a server in it with a plain and an encrypted port.
struct Realm {
    kdc: Kdc,
    zookeeper: ZooKeeper,
    ca: tempfile::NamedTempFile,
    worker: Principal,
    other: Principal,
}

/// Returns the realm that all tests share, except for those that stop its key distribution center.
fn realm() -> &'static Realm {
    static REALM: OnceLock<Realm> = OnceLock::new();
    REALM.get_or_init(Realm::start)
}

impl Realm {
    fn start() -> Self {
        let kdc = Kdc::start().expect("the KDC starts");
        let [service, worker, other] =
            ["zookeeper/localhost", "worker", "other"].map(|name| kdc.principal(name).unwrap());
        let authority = Authority::new();
        let tls = zklock_testkit::Tls::new(&authority);
        let zookeeper = ZooKeeper::builder().tls(tls).kerberos(&service).superuser(SUPERUSER);
        let zookeeper = zookeeper.max_session_timeout(SOON).start().expect("the server starts");
        let ca = tempfile::NamedTempFile::new().unwrap();
        fs::write(ca.path(), authority.certificate_pem()).unwrap();
        Self { kdc, zookeeper, ca, worker, other }
    }

    /// Prepares a client that logs in with the tickets of a cache, which may be missing.
    fn agent(&self, scene: &str, cache: PathBuf) -> Agent {
        Agent::new(scene)
            .variable("ZKLOCK_CONNECT", self.zookeeper.connect_string())
            .variable("ZKLOCK_SASL_GSSAPI", SERVICE)
            .variable("KRB5_CONFIG", self.kdc.config())
            .variable("KRB5CCNAME", cache)
    }

    fn worker(&self, scene: &str) -> Agent {
        self.agent(scene, self.worker.ticket(&[]).unwrap())
    }

    /// Returns the owners in the access control list of a node.
    async fn owners(&self, path: &str) -> Vec<String> {
        let connector = zk::Client::connector().with_auth("digest", b"super:admin");
        let client = connector.connect(self.zookeeper.connect_string()).await.unwrap();
        let (acls, _) = client.get_acl(path).await.unwrap();
        acls.iter().map(|acl| format!("{}:{}", acl.scheme(), acl.id())).collect()
    }
}

#[tokio::test]
async fn a_lock_of_a_principal_belongs_to_it_and_no_other_principal_may_touch_it() {
    let (realm, namespace) = (realm(), namespace());
    let in_namespace = |agent: Agent| agent.variable("ZKLOCK_NAMESPACE", &namespace);
    let worker = in_namespace(realm.worker("hold")).variable("ZKLOCK_ACL", "creator_all");
    let secure = realm.zookeeper.secure_connect_string();
    let worker = worker.variable("ZKLOCK_CONNECT", secure).variable("ZKLOCK_TLS_CA", realm.ca.path());
    let mut worker = worker.start();
    assert_eq!(worker.told(), "held");
    let owners = soon(realm.owners(&format!("{namespace}/orders/7"))).await;
    assert_eq!(owners, ["sasl:worker@ZKLOCK.TEST"]);
    let other = realm.agent("kept out", realm.other.ticket(&[]).unwrap());
    assert_eq!(in_namespace(other).start().told(), "kept out");
    worker.tell("release");
    assert_eq!(worker.told(), "released");
}

#[tokio::test]
async fn a_keytab_is_enough() {
    let realm = realm();
    let cache = realm.ca.path().with_extension("cache");
    let agent = realm.agent("connect", cache.clone());
    let mut agent = agent.variable("KRB5_CLIENT_KTNAME", realm.worker.keytab()).start();
    assert_eq!(agent.told(), "connected");
    fs::remove_file(cache).unwrap();
}

#[tokio::test]
async fn no_line_of_a_log_shows_a_ticket() {
    let realm = realm();
    let cache = realm.worker.ticket(&[]).unwrap();
    let before = fs::read(&cache).unwrap().len();
    let mut agent = realm.agent("connect", cache.clone()).start();
    assert_eq!(agent.told(), "connected");
    let output = agent.output();
    assert!(output.contains("zookeeper_client") && output.contains("DEBUG"), "{output}");
    // The ticket of the server, which the login sends, comes last in the cache.
    let cached = fs::read(cache).unwrap();
    let added = &cached[before..];
    assert!(String::from_utf8_lossy(added).contains("zookeeper"), "the cache got no ticket: {added:?}");
    let ticket = &added[added.len() - 48..added.len() - 8];
    for form in forms(ticket) {
        assert!(!output.contains(&form), "a ticket is shown: {form}");
    }
}

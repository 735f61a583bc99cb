//! Real servers with TLS, and the clients that they and their certificates are for.

use std::fs;
use std::time::Duration;

use tokio::time::timeout;
use zklock_testkit::{Authority, ClientCertificates, Identity, Tls, Validity, ZooKeeper};
use zookeeper_client::{Acls, AuthUser, Client, CreateMode, Error, TlsOptions};

/// The time limit of a connection, which a refusal does not come near.
const SOON: Duration = Duration::from_secs(20);

fn start(authority: &Authority, client_certificates: ClientCertificates) -> ZooKeeper {
    let tls = Tls::new(authority).client_certificates(client_certificates);
    ZooKeeper::builder().tls(tls).start().unwrap()
}

fn trusting(authority: &Authority) -> TlsOptions {
    TlsOptions::new().with_pem_ca(authority.certificate_pem()).unwrap()
}

fn showing(options: TlsOptions, identity: &Identity) -> TlsOptions {
    options.with_pem_identity(identity.certificate_pem(), identity.key_pem()).unwrap()
}

async fn connect(zookeeper: &ZooKeeper, options: TlsOptions) -> Result<Client, Error> {
    // Without this, a client tries again until its session times out.
    let connector = Client::connector().with_tls(options).with_fail_eagerly();
    let connection = connector.connect(zookeeper.secure_connect_string());
    timeout(SOON, connection).await.expect("a connection is made or refused in time")
}

async fn assert_refused(zookeeper: &ZooKeeper, options: TlsOptions, reason: &str) {
    assert_eq!(connect(zookeeper, options).await.unwrap_err(), Error::NoHosts, "{reason}");
}

async fn names_of(client: &Client) -> Vec<String> {
    let users = client.list_auth_users().await.unwrap();
    users.iter().filter(|user| user.scheme() == "x509").map(AuthUser::user).map(str::to_owned).collect()
}

fn address_of(zookeeper: &ZooKeeper) -> String {
    zookeeper.secure_address().ip().to_string()
}

#[tokio::test]
async fn a_client_that_trusts_the_authority_writes_and_one_without_tls_reads() {
    let authority = Authority::new();
    let zookeeper = start(&authority, ClientCertificates::Ignored);
    assert_eq!(zookeeper.secure_connect_string(), format!("tcp+tls://{}", zookeeper.secure_address()));
    let client = connect(&zookeeper, trusting(&authority)).await.unwrap();
    let options = CreateMode::Persistent.with_acls(Acls::anyone_all());
    client.create("/a", b"1", &options).await.unwrap();
    assert_eq!(client.get_data("/a").await.unwrap().0, b"1");
    assert!(names_of(&client).await.is_empty());
    let plain = Client::connect(zookeeper.connect_string()).await.unwrap();
    assert_eq!(plain.get_data("/a").await.unwrap().0, b"1");
    assert_eq!(zookeeper.four_letter("ruok").unwrap(), "imok");
}

#[tokio::test]
async fn a_client_that_trusts_another_authority_refuses_the_server() {
    let authority = Authority::new();
    let zookeeper = start(&authority, ClientCertificates::Ignored);
    assert_refused(&zookeeper, trusting(&Authority::new()), "another authority").await;
    connect(&zookeeper, trusting(&authority)).await.unwrap();
}

#[tokio::test]
async fn a_client_refuses_a_server_whose_certificate_is_for_another_name_or_another_time() {
    let authority = Authority::new();
    let elsewhere = authority.identity(["elsewhere.example", "127.0.0.1"], Validity::Now);
    let tls = Tls::new(&authority).identity(&elsewhere);
    let zookeeper = ZooKeeper::builder().tls(tls).start().unwrap();
    assert_refused(&zookeeper, trusting(&authority), "another name").await;
    for validity in [Validity::Expired, Validity::NotYet] {
        zookeeper.replace_certificate(&authority.identity([address_of(&zookeeper)], validity)).unwrap();
        zookeeper.restart().unwrap();
        assert_refused(&zookeeper, trusting(&authority), &format!("{validity:?}")).await;
    }
    let names = ["elsewhere.example".to_owned(), address_of(&zookeeper)];
    zookeeper.replace_certificate(&authority.identity(names, Validity::Now)).unwrap();
    zookeeper.restart().unwrap();
    connect(&zookeeper, trusting(&authority)).await.unwrap();
}

#[tokio::test]
async fn a_replaced_certificate_is_served_after_a_restart() {
    let (old, new) = (Authority::new(), Authority::new());
    let zookeeper = start(&old, ClientCertificates::Ignored);
    connect(&zookeeper, trusting(&old)).await.unwrap();
    zookeeper.replace_certificate(&new.identity([address_of(&zookeeper)], Validity::Now)).unwrap();
    assert_refused(&zookeeper, trusting(&new), "the old certificate is served still").await;
    let (secure, plain) = (zookeeper.secure_address(), zookeeper.address());
    zookeeper.restart().unwrap();
    assert_eq!((zookeeper.secure_address(), zookeeper.address()), (secure, plain));
    connect(&zookeeper, trusting(&new)).await.unwrap();
    assert_refused(&zookeeper, trusting(&old), "the old certificate is gone").await;
}

#[tokio::test]
async fn a_server_that_requires_certificates_refuses_clients_without_one_of_its_authority() {
    let authority = Authority::new();
    let zookeeper = start(&authority, ClientCertificates::Required);
    assert_refused(&zookeeper, trusting(&authority), "no certificate").await;
    let foreign = Authority::new().identity(["worker"], Validity::Now);
    assert_refused(&zookeeper, showing(trusting(&authority), &foreign), "a foreign one").await;
    for validity in [Validity::Expired, Validity::NotYet] {
        let identity = authority.identity(["worker"], validity);
        assert_refused(&zookeeper, showing(trusting(&authority), &identity), &format!("{validity:?}")).await;
    }
    let own = authority.identity(["worker"], Validity::Now);
    let client = connect(&zookeeper, showing(trusting(&authority), &own)).await.unwrap();
    assert_eq!(names_of(&client).await, ["CN=worker"]);
}

#[tokio::test]
async fn a_server_that_wants_certificates_accepts_none_and_refuses_foreign_ones() {
    let authority = Authority::new();
    let zookeeper = start(&authority, ClientCertificates::Wanted);
    let client = connect(&zookeeper, trusting(&authority)).await.unwrap();
    assert!(names_of(&client).await.is_empty());
    let foreign = Authority::new().identity(["worker"], Validity::Now);
    assert_refused(&zookeeper, showing(trusting(&authority), &foreign), "a foreign one").await;
    let own = authority.identity(["worker"], Validity::Now);
    let client = connect(&zookeeper, showing(trusting(&authority), &own)).await.unwrap();
    assert_eq!(names_of(&client).await, ["CN=worker"]);
}

#[tokio::test]
async fn a_replaced_authority_of_the_clients_is_asked_after_a_restart() {
    let (old, new) = (Authority::new(), Authority::new());
    let zookeeper = start(&old, ClientCertificates::Required);
    let (before, after) = (old.identity(["worker"], Validity::Now), new.identity(["worker"], Validity::Now));
    connect(&zookeeper, showing(trusting(&old), &before)).await.unwrap();
    zookeeper.replace_authority(&new).unwrap();
    zookeeper.restart().unwrap();
    assert_refused(&zookeeper, showing(trusting(&old), &before), "the old authority").await;
    connect(&zookeeper, showing(trusting(&old), &after)).await.unwrap();
}

#[tokio::test]
async fn a_server_that_asks_for_revocation_lists_refuses_revoked_clients() {
    let directory = tempfile::tempdir().unwrap();
    let list = directory.path().join("revoked.crl");
    let authority = Authority::with_list_at(&list);
    let (good, stolen) =
        (authority.identity(["good"], Validity::Now), authority.identity(["stolen"], Validity::Now));
    let tls = Tls::new(&authority).client_certificates(ClientCertificates::Required);
    let builder = ZooKeeper::builder().tls(tls).system_property("zookeeper.ssl.crl", "true");
    fs::write(&list, authority.revocation_list([])).unwrap();
    let zookeeper = builder.start().unwrap();
    for identity in [&good, &stolen] {
        connect(&zookeeper, showing(trusting(&authority), identity)).await.unwrap();
    }
    fs::write(&list, authority.revocation_list([&stolen])).unwrap();
    zookeeper.restart().unwrap();
    connect(&zookeeper, showing(trusting(&authority), &good)).await.unwrap();
    assert_refused(&zookeeper, showing(trusting(&authority), &stolen), "a revoked one").await;
    fs::remove_file(&list).unwrap();
    zookeeper.restart().unwrap();
    assert_refused(&zookeeper, showing(trusting(&authority), &good), "no list").await;
}

#[tokio::test]
async fn a_client_with_a_revocation_list_refuses_a_revoked_server() {
    let authority = Authority::new();
    let zookeeper = start(&authority, ClientCertificates::Ignored);
    let own = authority.identity([address_of(&zookeeper)], Validity::Now);
    zookeeper.replace_certificate(&own).unwrap();
    zookeeper.restart().unwrap();
    let with = |list: String| {
        let text = [authority.certificate_pem(), &list].concat();
        TlsOptions::new().with_pem_ca(&text).unwrap()
    };
    let other = authority.identity(["other"], Validity::Now);
    connect(&zookeeper, with(authority.revocation_list([&other]))).await.unwrap();
    assert_refused(&zookeeper, with(authority.revocation_list([&own, &other])), "revoked").await;
}

#[test]
fn only_the_owner_may_read_the_key() {
    let authority = Authority::new();
    let zookeeper = start(&authority, ClientCertificates::Ignored);
    let address = address_of(&zookeeper);
    super::assert_private(&zookeeper, "BEGIN PRIVATE KEY");
    let identity = authority.identity([address], Validity::Now);
    zookeeper.replace_certificate(&identity).unwrap();
    super::assert_private(&zookeeper, identity.key_pem());
}

#[test]
#[should_panic(expected = "started with TLS")]
fn a_server_without_tls_has_no_secure_address() {
    ZooKeeper::start().unwrap().secure_address();
}

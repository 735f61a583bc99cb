//! Real servers with users, and a superuser.

use std::fs;
use std::time::Duration;

use tokio::time::timeout;
use zklock_testkit::ZooKeeper;
use zookeeper_client::{Acl, Acls, AuthId, AuthUser, Client, CreateMode, Error, Permission, SaslOptions};

/// The time limit of a connection, which a refusal does not come near.
const SOON: Duration = Duration::from_secs(20);

/// The digest of the superuser `super` with the password `admin`.
const SUPERUSER: &str = "super:xQJmxLMiHGwaqBvst5y6rkB6HQs=";

async fn log_in(zookeeper: &ZooKeeper, name: &'static str, password: &'static str) -> Result<Client, Error> {
    let connector = Client::connector().with_sasl(SaslOptions::digest_md5(name, password));
    let connection = connector.connect(zookeeper.connect_string());
    timeout(SOON, connection).await.expect("a login is accepted or refused in time")
}

/// Creates a node that only this user may use.
async fn create_closed(client: &Client, path: &str, user: &str) {
    // `Acl::new_const` panics if the name has more than 24 bytes.
    let acls = [Acl::new(Permission::ALL, AuthId::new("sasl", user))];
    client.create(path, b"1", &CreateMode::Persistent.with_acls(Acls::new(&acls))).await.unwrap();
}

async fn names_of(client: &Client) -> Vec<String> {
    let users = client.list_auth_users().await.unwrap();
    users.iter().filter(|user| user.scheme() == "sasl").map(AuthUser::user).map(str::to_owned).collect()
}

#[tokio::test]
async fn a_node_of_one_user_is_closed_to_others_and_open_to_the_superuser() {
    let builder = ZooKeeper::builder().user("worker", "secret").user("other", "secrets");
    let zookeeper = builder.superuser(SUPERUSER).start().unwrap();
    let worker = log_in(&zookeeper, "worker", "secret").await.unwrap();
    assert_eq!(names_of(&worker).await, ["worker"]);
    create_closed(&worker, "/closed", "worker").await;
    assert_eq!(worker.get_data("/closed").await.unwrap().0, b"1");
    let other = log_in(&zookeeper, "other", "secrets").await.unwrap();
    assert_eq!(other.get_data("/closed").await.unwrap_err(), Error::NoAuth);
    let anyone = Client::connect(zookeeper.connect_string()).await.unwrap();
    assert_eq!(anyone.get_data("/closed").await.unwrap_err(), Error::NoAuth);
    let connector = Client::connector().with_auth("digest", b"super:admin");
    let superuser = connector.connect(zookeeper.connect_string()).await.unwrap();
    assert_eq!(superuser.get_data("/closed").await.unwrap().0, b"1");
    let connector = Client::connector().with_auth("digest", b"super:guess");
    let guesser = connector.connect(zookeeper.connect_string()).await.unwrap();
    assert_eq!(guesser.get_data("/closed").await.unwrap_err(), Error::NoAuth);
}

#[tokio::test]
async fn replaced_users_are_known_after_a_restart() {
    let zookeeper = ZooKeeper::builder().user("worker", "secret").start().unwrap();
    zookeeper.replace_users([("other", "secrets"), ("worker", "changed")]).unwrap();
    zookeeper.restart().unwrap();
    assert_eq!(log_in(&zookeeper, "worker", "secret").await.unwrap_err(), Error::AuthFailed);
    assert_eq!(names_of(&log_in(&zookeeper, "worker", "changed").await.unwrap()).await, ["worker"]);
    zookeeper.replace_users([]).unwrap();
    zookeeper.restart().unwrap();
    assert!(names_of(&log_in(&zookeeper, "worker", "secret").await.unwrap()).await.is_empty());
}

#[tokio::test]
async fn a_wrong_password_is_refused_without_a_retry() {
    let zookeeper = ZooKeeper::builder().user("worker", "secret").start().unwrap();
    assert_eq!(log_in(&zookeeper, "worker", "guess").await.unwrap_err(), Error::AuthFailed);
    assert_eq!(zookeeper.log().unwrap().matches("failed to SASL authenticate").count(), 1);
    log_in(&zookeeper, "worker", "secret").await.unwrap();
}

#[tokio::test]
async fn names_and_passwords_may_have_quotes_and_spaces() {
    let (name, password) = ("team a/worker_1@example.org", r#"p"a\s s=;{$}//*'"#);
    let zookeeper = ZooKeeper::builder().user(name, password).user("other", "secret").start().unwrap();
    let client = log_in(&zookeeper, name, password).await.unwrap();
    create_closed(&client, "/closed", name).await;
    assert_eq!(client.get_data("/closed").await.unwrap().0, b"1");
}

#[tokio::test]
async fn a_server_without_users_accepts_every_login_and_ignores_it() {
    let zookeeper = ZooKeeper::start().unwrap();
    let client = log_in(&zookeeper, "stranger", "guess").await.unwrap();
    assert!(names_of(&client).await.is_empty());
}

#[tokio::test]
async fn an_unknown_name_is_refused_until_a_user_with_its_password_has_logged_in() {
    let zookeeper = ZooKeeper::builder().user("worker", "secret").start().unwrap();
    assert_eq!(log_in(&zookeeper, "stranger", "secret").await.unwrap_err(), Error::AuthFailed);
    log_in(&zookeeper, "worker", "secret").await.unwrap();
    let stranger = log_in(&zookeeper, "stranger", "secret").await;
    let stranger = stranger.expect("the documentation of `user` says that ZooKeeper 3.8.0 accepts this");
    assert_eq!(names_of(&stranger).await, ["stranger"]);
}

#[test]
fn only_the_owner_may_read_passwords() {
    let builder = ZooKeeper::builder().user("worker", "secret").superuser(SUPERUSER);
    let shown = format!("{builder:?}");
    assert!(shown.contains("worker") && !shown.contains("secret") && !shown.contains("xQJm"), "{shown}");
    let zookeeper = builder.start().unwrap();
    super::assert_private(&zookeeper, "secret");
    super::assert_private(&zookeeper, SUPERUSER);
    let command = fs::read(format!("/proc/{}/cmdline", zookeeper.pid().unwrap())).unwrap();
    let command = String::from_utf8_lossy(&command);
    assert!(!command.contains("secret") && !command.contains("xQJm"), "{command}");
}

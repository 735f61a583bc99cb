//! Clients that cannot log in.

use zklock_testkit::Kdc;

use super::agent::Agent;
use super::realm;
use crate::secured::secured;

/// Starts a client, and asserts that it fails with this kind of error when its time is over.
#[track_caller]
fn assert_late(agent: Agent, text: &str) {
    let told = agent.variable("ZKLOCK_CONNECT_TIMEOUT", "10s").start().told();
    assert!(told.starts_with("Connect after ") && told.contains(text), "{told}");
}

#[test]
fn a_client_without_a_ticket_is_told_when_the_time_is_over() {
    let realm = realm();
    let cache = realm.ca.path().with_extension("missing");
    assert_late(realm.agent("connect", cache), "the login by Kerberos");
}

#[test]
fn the_instance_is_the_host_of_the_connect_string_by_default() {
    let agent = realm().worker("connect").variable("ZKLOCK_SASL_GSSAPI", "zookeeper");
    assert_late(agent, "the login by Kerberos");
}

#[test]
fn a_server_of_another_service_refuses_the_ticket() {
    let realm = realm();
    realm.kdc.principal("another/localhost").unwrap();
    let agent = realm.worker("connect").variable("ZKLOCK_SASL_GSSAPI", "another@localhost");
    let told = agent.variable("ZKLOCK_CONNECT_TIMEOUT", "600s").start().told();
    assert!(told.starts_with("AuthFailed after "), "{told}");
}

#[test]
fn a_server_whose_users_have_passwords_is_told_when_the_time_is_over() {
    let server = secured().plain_address().to_string();
    let agent = realm().worker("connect").variable("ZKLOCK_CONNECT", server);
    assert_late(agent, "the login by Kerberos");
}

#[test]
fn a_realm_that_does_not_answer_is_told_when_the_time_is_over() {
    let kdc = Kdc::start().unwrap();
    let cache = kdc.principal("worker").unwrap().ticket(&[]).unwrap();
    kdc.pause().unwrap();
    let agent = realm().agent("connect", cache).variable("KRB5_CONFIG", kdc.config());
    assert_late(agent, "");
    kdc.resume().unwrap();
}

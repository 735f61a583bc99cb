//! Clients that cannot log in, which are told at once why, and what to do.

use std::fs;
use std::process::Command;

use rstest::rstest;
use zklock_testkit::{Kdc, eventually};

use super::agent::{Agent, Scene};
use super::realm;
use crate::SOON;
use crate::secured::secured;

/// Starts a client that would wait longer than a test may take, and asserts that it fails at once.
#[track_caller]
fn assert_refused(agent: Agent, kind: &str, texts: &[&str]) {
    let told = agent.variable("ZKLOCK_CONNECT_TIMEOUT", "600s").start().told();
    assert!(told.starts_with(&format!("{kind} after ")), "{told}");
    for text in texts {
        assert!(told.contains(text), "{text:?}: {told}");
    }
}

#[test]
fn a_client_without_a_ticket_is_told_how_to_get_one() {
    let realm = realm();
    let cache = realm.ca.path().with_extension("missing");
    let agent = realm.agent(Scene::Connect, cache.clone());
    let name = cache.display().to_string();
    assert_refused(agent, "Kerberos", &[&name, "`kinit`", "KRB5CCNAME", "KRB5_CLIENT_KTNAME"]);
}

#[test]
fn a_client_with_an_expired_ticket_is_told_to_renew_it() {
    let realm = realm();
    let cache = realm.worker.ticket(&["-l", "1s"]).unwrap();
    let is_expired = || {
        let status = Command::new("klist").arg("-s").arg("-c").arg(&cache).status().unwrap();
        (!status.success()).then_some(())
    };
    eventually(SOON, is_expired).expect("the ticket expires");
    let agent = realm.agent(Scene::Connect, cache.clone());
    assert_refused(agent, "Kerberos", &["expired", "renew the ticket with `kinit`"]);
}

#[test]
fn a_service_that_the_realm_does_not_know_is_named() {
    let agent = realm().worker(Scene::Connect).variable("ZKLOCK_SASL_GSSAPI", "zookeeper@elsewhere");
    assert_refused(agent, "Kerberos", &["zookeeper/elsewhere@ZKLOCK.TEST not found", "`elsewhere`"]);
}

#[test]
fn the_instance_is_the_host_of_the_connect_string_by_default() {
    let realm = realm();
    let agent = realm.worker(Scene::Connect).variable("ZKLOCK_SASL_GSSAPI", "zookeeper");
    let host = realm.zookeeper.address().ip();
    assert_refused(agent, "Kerberos", &[&format!("zookeeper/{host}@ZKLOCK.TEST not found")]);
}

#[test]
fn a_malformed_configuration_is_named() {
    let config = tempfile::NamedTempFile::new().unwrap();
    fs::write(config.path(), "[libdefaults").unwrap();
    let agent = realm().worker(Scene::Connect).variable("KRB5_CONFIG", config.path());
    let reason = "Improper format of Kerberos configuration file";
    assert_refused(agent, "Kerberos", &[reason, "KRB5_CONFIG"]);
}

/// The names of centers may come from a name server that does not answer at the moment.
#[rstest]
#[case("OTHER.TEST", "", "Cannot find KDC for realm")]
#[case("ZKLOCK.TEST", "kdc = 127.0.0.1:1", "Cannot contact any KDC for realm")]
fn a_center_that_is_not_found_is_told_when_the_time_is_over(
    #[case] name: &str,
    #[case] center: &str,
    #[case] reason: &str,
) {
    let realm = realm();
    let config = tempfile::NamedTempFile::new().unwrap();
    let realms = format!("[realms]\n ZKLOCK.TEST = {{\n {center}\n }}\n");
    let text = format!("[libdefaults]\n default_realm = {name}\n dns_lookup_kdc = false\n{realms}");
    fs::write(config.path(), text).unwrap();
    // With a keytab, the library would get a ticket.
    let cache = config.path().with_extension("cache");
    let agent = realm.agent(Scene::Connect, cache).variable("KRB5_CLIENT_KTNAME", realm.worker.keytab());
    let agent = agent.variable("KRB5_CONFIG", config.path());
    let told = agent.variable("ZKLOCK_CONNECT_TIMEOUT", "15s").start().told();
    assert!(told.starts_with("Connect after ") && told.contains(reason), "{told}");
}

#[test]
fn a_server_of_another_service_refuses_the_ticket() {
    let realm = realm();
    realm.kdc.principal("another/localhost").unwrap();
    let agent = realm.worker(Scene::Connect).variable("ZKLOCK_SASL_GSSAPI", "another@localhost");
    assert_refused(agent, "AuthFailed", &["refuses the credentials"]);
}

#[test]
fn a_server_whose_users_have_passwords_is_told_when_the_time_is_over() {
    let server = secured().plain_address().to_string();
    let agent = realm().worker(Scene::Connect).variable("ZKLOCK_CONNECT", server);
    let told = agent.variable("ZKLOCK_CONNECT_TIMEOUT", "15s").start().told();
    assert!(told.starts_with("Connect after ") && told.contains("the login by Kerberos"), "{told}");
}

#[test]
fn a_realm_that_does_not_answer_is_told_when_the_time_is_over() {
    let kdc = Kdc::start().unwrap();
    let cache = kdc.principal("worker").unwrap().ticket(&[]).unwrap();
    kdc.pause().unwrap();
    let agent = realm().agent(Scene::Connect, cache).variable("KRB5_CONFIG", kdc.config());
    let told = agent.variable("ZKLOCK_CONNECT_TIMEOUT", "5s").start().told();
    assert!(told.starts_with("Connect after ") && told.contains("has not answered in time"), "{told}");
    kdc.resume().unwrap();
}

//! `zklock serve`.

use nix::sys::signal::Signal;

use crate::zklock::Zklock;

#[tokio::test]
async fn a_server_for_development_says_that_it_keeps_nothing_and_serves_locks() {
    let mut server = Zklock::new("serve --data none --listen 127.0.0.1:0").start();
    let line = server.line();
    let address = line.strip_prefix("listening on ").expect("it tells its address").to_owned();
    assert!(server.line().contains("keeps nothing"));
    Zklock::new("exec /a --connect").arg(&address).shell("exit 5").ends(5);
    Zklock::new("serve --data none --listen").arg(&address).ends(70);
    server.ends_by(Signal::SIGTERM).await;
}

//! `zklock serve`.

use nix::sys::signal::Signal;

use crate::zklock::Zklock;

#[tokio::test]
async fn a_server_for_development_says_that_it_keeps_nothing_and_serves_locks() {
    let mut server = Zklock::new("serve --data none --listen 127.0.0.1:0").start();
    let line = server.line();
    let address = line.strip_prefix("listening on ").expect("it tells its address").to_owned();
    assert!(server.line().contains("keeps nothing"));
    let ended = Zklock::new("exec /a --connect").arg(&address).shell("exit 5").run();
    assert_eq!(ended.code, 5, "{}", ended.err);
    let second = Zklock::new("serve --data none --listen").arg(&address).run();
    assert_eq!(second.code, 70, "the address is taken");
    server.ends_by(Signal::SIGTERM).await;
}

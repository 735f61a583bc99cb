//! The end of a command whose servers answer late or not at all.

use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rstest_reuse::apply;
use zklock_testkit::{Direction, Proxy};

use crate::running::state;
use crate::server::{Server, TICK};
use crate::support::{Kind, Space, on_both_servers};
use crate::waiting::{SOON, until};
use crate::zklock::Zklock;

/// Longer than tests wait.
const LONG: Duration = Duration::from_secs(60);

#[apply(on_both_servers)]
#[tokio::test]
async fn a_further_signal_ends_a_command_that_cannot_release_its_lock(kind: Kind) {
    assert!(LONG > SOON);
    let server = Server::start_granting(kind, LONG);
    for command in ["exec", "lead"] {
        let proxy = Proxy::start(server.address()).unwrap();
        let zklock = Zklock::new(&format!("{command} /{command}"));
        let zklock = zklock.env("ZKLOCK_CONNECT", proxy.connect_string());
        let zklock = zklock.env("ZKLOCK_SESSION_TIMEOUT", "60s").env("ZKLOCK_DEFAULT_WAIT", "60s");
        let zklock = zklock.env("ZKLOCK_TICK_TIME", format!("{}ms", TICK.as_millis()));
        let script = "trap 'exit 5' TERM; echo $$; while :; do sleep 0.01; done";
        let mut running = zklock.shell(script).start();
        let program: i32 = running.line().parse().unwrap();
        proxy.blackhole(Direction::Both);
        running.signal(Signal::SIGTERM);
        until(async || state(program).is_none(), "the program has ended").await;
        running.signal(Signal::SIGINT);
        assert_eq!(running.code().await, 5, "{command}");
    }
}

#[apply(on_both_servers)]
#[tokio::test]
async fn a_signal_to_all_processes_leaves_time_for_the_release(kind: Kind) {
    let space = Space::new(kind);
    let proxy = space.proxy();
    let zklock = space.zklock_at(proxy.connect_string(), "exec /a --json").err_to_out();
    let mut running = zklock.shell("echo program $$; exec sleep 1000").start();
    let program: i32 = running.line_with("program ").rsplit(' ').next().unwrap().parse().unwrap();
    proxy.blackhole(Direction::Both);
    kill(Pid::from_raw(program), Signal::SIGTERM).unwrap();
    until(async || state(program).is_none(), "the program has ended, and the lock is being released").await;
    running.signal(Signal::SIGTERM);
    // A further signal would leave one second.
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    proxy.heal();
    running.line_with("\"event\":\"released\"");
    assert_eq!(running.code().await, 143);
}

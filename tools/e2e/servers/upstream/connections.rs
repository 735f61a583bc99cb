//! The sockets of the library, and its writes.

use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use futures_util::future::join_all;
use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};
use zookeeper_client as zk;

use super::peer::Peer;
use super::{NO_DELAY, WRITES};
use crate::support::Server;

/// Returns a duplicate of the socket of this process between these addresses.
fn own_socket(local: SocketAddr, remote: SocketAddr) -> TcpStream {
    let table = fs::read_to_string("/proc/self/net/tcp").unwrap();
    let fields = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let mut rows = table.lines().map(fields);
    let row =
        rows.find(|row| row[1] == in_table(local) && row[2] == in_table(remote)).expect("it is connected");
    let target = format!("socket:[{}]", row[9]);
    let descriptors = fs::read_dir("/proc/self/fd").unwrap().map(|entry| entry.unwrap());
    let mut sockets = descriptors
        .filter(|entry| fs::read_link(entry.path()).is_ok_and(|link| link.as_os_str() == target.as_str()));
    let descriptor = sockets.next().expect("the socket is open").file_name();
    let descriptor = descriptor.to_str().unwrap().parse().unwrap();
    // Safe code can name a descriptor of another owner only in the way in which one process names those of another.
    let process = pidfd_open(getpid(), PidfdFlags::empty()).unwrap();
    pidfd_getfd(process, descriptor, PidfdGetfdFlags::empty()).expect("`pidfd_getfd` is permitted").into()
}

/// Returns an address as the table of sockets has it.
fn in_table(address: SocketAddr) -> String {
    let SocketAddr::V4(address) = address else { panic!("{address} is not of IPv4") };
    format!("{:08X}:{:04X}", u32::from_ne_bytes(address.ip().octets()), address.port())
}

#[tokio::test]
async fn connections_have_no_nodelay() {
    let peer = Peer::granting(Duration::from_secs(60)).await;
    let (_client, connection) = peer.connect().await;
    let socket = own_socket(connection.client(), peer.address());
    assert!(!socket.nodelay().unwrap(), "{NO_DELAY}");
    socket.set_nodelay(true).unwrap();
    assert!(socket.nodelay().unwrap(), "the option is visible");
}

/// Returns how many system calls of this thread have written something.
fn writes() -> u64 {
    let counts = fs::read_to_string("/proc/thread-self/io").unwrap();
    let count =
        counts.lines().find_map(|line| line.strip_prefix("syscw: ")).expect("the kernel counts writes");
    count.parse().unwrap()
}

/// Sends this many requests before the session's task can run, and returns how many writes they take.
async fn writes_of(client: &zk::Client, requests: usize) -> u64 {
    let before = writes();
    let sent: Vec<_> = (0..requests).map(|_| client.check_stat("/")).collect();
    for answer in join_all(sent).await {
        answer.unwrap();
    }
    writes() - before
}

// The session's task and its writes are on the only thread of the runtime.
#[tokio::test]
async fn requests_that_are_ready_together_are_written_one_by_one_in_some_sessions() {
    // The timers of such long sessions do not fire during the test. Each of them would count as a write.
    let server = Server::start_granting(Duration::from_secs(3600));
    let connector = zk::Client::connector().with_session_timeout(Duration::from_secs(3600));
    let (mut sessions, mut counts) = (Vec::new(), Vec::new());
    for n in 1..=25 {
        let client = connector.clone().connect(server.connect_string()).await.unwrap();
        // The task starts its timer with the first request. From then on, it writes to its socket only.
        client.check_stat("/").await.unwrap();
        assert_eq!([writes_of(&client, 1).await, writes_of(&client, 1).await], [1, 1]);
        counts.push(writes_of(&client, 10).await);
        // Sessions differ by the address of their task. All stay open, with different distances between them.
        sessions.push((client, vec![0_u8; 4096 + 16 * n]));
    }
    assert!(counts.iter().all(|count| [1, 10].contains(count)), "{WRITES}: {counts:?}");
    assert!(counts.contains(&10), "{WRITES}: {counts:?}");
}

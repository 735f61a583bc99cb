//! Wrong addresses: each has its own reason in the error of a connect, in the readiness, and in the log.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use futures_util::future::join_all;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use zklock::Config;

use crate::support::diagnosis::assert_told;
use crate::support::logs::{Loud, logged};

const WITHIN: Duration = Duration::from_secs(2);

/// An address that does not answer: the connections that its system still takes are all used up.
struct BlackHole {
    address: SocketAddr,
    _listener: TcpListener,
    _taken: Vec<TcpStream>,
}

impl BlackHole {
    async fn start() -> Self {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
        let _listener = socket.listen(0).unwrap();
        let address = _listener.local_addr().unwrap();
        let (mut _taken, mut vain) = (Vec::new(), 0);
        // A busy machine may take one late.
        while vain < 3 {
            match tokio::time::timeout(Duration::from_millis(300), TcpStream::connect(address)).await {
                Ok(taken) => _taken.push(taken.unwrap()),
                Err(_) => vain += 1,
            }
        }
        Self { address, _listener, _taken }
    }
}

/// Starts a server that is not ZooKeeper, and returns its address.
async fn impostor<F: Future<Output = io::Result<()>> + Send + 'static>(serve: fn(TcpStream) -> F) -> String {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            tokio::spawn(async move { serve(stream).await.ok() });
        }
    });
    address.to_string()
}

async fn keep_open(mut stream: TcpStream) -> io::Result<()> {
    stream.read_to_end(&mut Vec::new()).await.map(drop)
}

async fn close(_stream: TcpStream) -> io::Result<()> {
    Ok(())
}

async fn speak_ssh(mut stream: TcpStream) -> io::Result<()> {
    stream.write_all(b"SSH-2.0-OpenSSH_9.2p1 Debian\r\n").await?;
    keep_open(stream).await
}

async fn speak_http(stream: TcpStream) -> io::Result<()> {
    let mut stream = BufReader::new(stream);
    stream.read_until(b'\n', &mut Vec::new()).await?;
    stream.write_all(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n").await
}

/// Answers a `ClientHello` with an alert, and closes all other connections.
async fn speak_tls(mut stream: TcpStream) -> io::Result<()> {
    let mut words = [0; 5];
    stream.read_exact(&mut words).await?;
    // A fatal alert: no handshake with these suites.
    let alert: &[u8] = if words[0] == 0x16 { &[0x15, 3, 3, 0, 2, 2, 40] } else { &[] };
    stream.write_all(alert).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_wrong_address_has_its_reason_in_the_error_the_readiness_and_the_log() {
    Loud::listen();
    let black_hole = BlackHole::start().await;
    let (silent, closing) = (impostor(keep_open).await, impostor(close).await);
    let (http, tls, ssh) = (impostor(speak_http).await, impostor(speak_tls).await, impostor(speak_ssh).await);
    let several =
        format!("127.0.0.1:1: it refuses connections: nothing listens on this port; {closing}: it closes");
    let cases = [
        // A label is too long for any name service, so that none is asked.
        (format!("{}.invalid:2181", "x".repeat(64)), "unknown host"),
        ("127.0.0.1:1".to_owned(), "refuses connections"),
        (black_hole.address.to_string(), "no answer from its address"),
        (silent, "accepts connections, and does not answer"),
        (closing.clone(), "closes connections at once"),
        (http, "speaks HTTP"),
        (tls, "expects TLS"),
        (ssh, "not ZooKeeper: it begins with \"SSH-2.0-OpenSSH_9.2p1 Debian\""),
        (format!("127.0.0.1:1,{closing}"), &several),
    ];
    join_all(cases.iter().map(|(servers, reason)| assert_told(reason, servers, WITHIN))).await;
}

#[tokio::test]
async fn a_failure_with_the_same_reason_is_logged_once() {
    Loud::listen();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let servers = listener.local_addr().unwrap().to_string();
    let _client = Config::new(&servers).start().unwrap();
    // An attempt is followed by a look for the reason.
    for _ in 0..2 * 4 {
        drop(listener.accept().await.unwrap());
    }
    // The library of the protocol logs every attempt.
    let lines: Vec<_> = logged(&servers).into_iter().filter(|line| line.starts_with("zklock_core")).collect();
    assert!(lines.len() == 1 && lines[0].contains("closes connections at once"), "{lines:?}");
}

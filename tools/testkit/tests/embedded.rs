//! The operations that only the embedded server has, and the clients that it must withstand.

use std::net::TcpStream;
use std::time::{Duration, Instant};

use zklock_testkit::conversation::ConversationError;
use zklock_testkit::wire::{
    AddWatch, ConnectRequest, Create, CreateFlags, ErrorCode, EventType, Request, Response,
};
use zklock_testkit::{Conversation, EmbeddedServer, Error, eventually};

const SOON: Duration = Duration::from_secs(20);

fn server() -> EmbeddedServer {
    EmbeddedServer::start().unwrap()
}

#[track_caller]
fn wait_until(what: &str, mut state: impl FnMut() -> bool) {
    assert!(eventually(SOON, || state().then_some(())).is_some(), "never happened: {what}");
}

async fn open(server: &EmbeddedServer) -> Conversation {
    Conversation::open(server.address()).await.unwrap()
}

async fn create(client: &mut Conversation, path: &str, flags: CreateFlags) -> Result<String, ErrorCode> {
    match client.call(Request::Create(Create::new(path, "", flags))).await.unwrap().outcome? {
        Response::Path(path) => Ok(path),
        other => panic!("{other:?}"),
    }
}

async fn watch(client: &mut Conversation, path: &str) {
    client.call(Request::Exists { path: path.into(), watch: true }).await.unwrap();
}

async fn refusal(server: &EmbeddedServer, request: ConnectRequest) -> ConversationError {
    Conversation::connect(server.address(), request).await.expect_err("there is no session")
}

#[test]
fn it_listens_only_on_a_loopback_address_which_is_free() {
    let listen = |address: &str| EmbeddedServer::builder().listen(address.parse().unwrap()).start();
    assert!(matches!(listen("0.0.0.0:0"), Err(Error::NotLoopback { .. })));
    let first = server();
    assert!(matches!(listen(first.connect_string()), Err(Error::Io { .. })));
}

#[tokio::test]
async fn an_empty_restart_forgets_everything() {
    let server = server();
    let before = server.paths();
    let mut client = open(&server).await;
    let session = client.session().clone();
    create(&mut client, "/a", CreateFlags::PERSISTENT).await.unwrap();
    server.restart_empty().unwrap();
    assert_eq!((server.paths(), server.sessions().len()), (before, 0));
    match refusal(&server, ConnectRequest::attach(&session)).await {
        ConversationError::NoSession(answer) => assert_eq!(answer.session_id, 0),
        other => panic!("{other:?}"),
    }
    let ahead = ConnectRequest { last_zxid_seen: 2, ..ConnectRequest::default() };
    assert!(matches!(refusal(&server, ahead).await, ConversationError::Closed));
    assert_ne!(open(&server).await.session_id(), session.session_id);
}

#[tokio::test]
async fn nothing_happens_during_a_pause_and_time_is_made_up_for_at_its_end() {
    let builder = EmbeddedServer::builder().tick_time(Duration::from_millis(50));
    let server = builder.max_session_timeout(Duration::from_secs(60)).start().unwrap();
    let mut client = open(&server).await;
    let brief = Conversation::connect(server.address(), ConnectRequest::with_timeout(2_000)).await.unwrap();
    server.pause().unwrap();
    let paused = Instant::now();
    client.send(Request::Create(Create::new("/a", "", CreateFlags::PERSISTENT))).await.unwrap();
    // The awaited state is that of the clock: the session's timeout has passed.
    wait_until("a timeout", || paused.elapsed() > Duration::from_millis(2_500));
    assert!(server.node("/a").is_none());
    assert_eq!(server.sessions().len(), 2);
    server.resume().unwrap();
    assert!(!server.sessions().iter().any(|view| view.id == brief.session_id()));
    client.receive().await.unwrap();
    assert!(server.node("/a").is_some());
}

#[test]
fn a_server_that_was_killed_cannot_be_paused() {
    let server = server();
    server.kill().unwrap();
    assert!(matches!(server.pause(), Err(Error::NotRunning { .. })));
    assert!(matches!(server.resume(), Err(Error::NotRunning { .. })));
}

#[tokio::test]
async fn an_expired_session_is_gone_at_once_and_a_disconnected_one_stays() {
    let server = server();
    let (mut one, mut other) = (open(&server).await, open(&server).await);
    create(&mut one, "/a", CreateFlags::EPHEMERAL).await.unwrap();
    watch(&mut other, "/a").await;
    let session = one.session().clone();
    server.disconnect(session.session_id);
    assert!(!server.is_connected(session.session_id));
    assert_eq!(one.until_closed().await.unwrap(), []);
    let mut one = Conversation::connect(server.address(), ConnectRequest::attach(&session)).await.unwrap();
    assert!(server.is_connected(session.session_id));
    server.expire(session.session_id);
    assert!(server.node("/a").is_none());
    assert_eq!(other.event().await.unwrap().event, EventType::Deleted);
    assert_eq!(one.until_closed().await.unwrap(), []);
    assert!(matches!(
        refusal(&server, ConnectRequest::attach(&session)).await,
        ConversationError::NoSession(_)
    ));
}

#[tokio::test]
async fn sessions_watches_and_nodes_are_listed() {
    let server = server();
    let mut client = open(&server).await;
    create(&mut client, "/a", CreateFlags::PERSISTENT).await.unwrap();
    watch(&mut client, "/a").await;
    let session = client.session_id();
    assert_eq!(server.sessions().iter().map(|view| view.id).collect::<Vec<_>>(), [session]);
    assert_eq!(server.watches(), [("/a".into(), [session].into())].into());
    assert_eq!(server.watch_count(), 1);
    assert!(server.paths().contains(&"/a".into()) && server.node("/a").is_some());
    client.close().await.unwrap();
    assert_eq!((server.watch_count(), server.sessions().len()), (0, 0));
}

#[tokio::test]
async fn dropping_it_frees_the_port_and_closes_connections() {
    let server = server();
    let address = server.address();
    let mut client = open(&server).await;
    drop(server);
    assert_eq!(client.until_closed().await.unwrap(), []);
    drop(EmbeddedServer::builder().listen(address).start().unwrap());
}

#[tokio::test]
async fn a_client_that_never_reads_is_disconnected_and_disturbs_nobody() {
    let server = server();
    let (mut healthy, mut deaf) = (open(&server).await, open(&server).await);
    deaf.call(Request::AddWatch(AddWatch { path: "/".into(), mode: 1 })).await.unwrap();
    let path = format!("/{}", "x".repeat(1000));
    create(&mut healthy, &path, CreateFlags::PERSISTENT).await.unwrap();
    let set = zklock_testkit::wire::SetData { path, data: None, version: -1 };
    for _ in 0..20_000 {
        healthy.call(Request::SetData(set.clone())).await.unwrap();
    }
    wait_until("the end of the connection", || !server.is_connected(deaf.session_id()));
    assert!(server.is_connected(healthy.session_id()));
}

#[tokio::test]
async fn connections_beyond_the_limit_are_closed_and_the_others_go_on() {
    let server = server();
    let mut healthy = open(&server).await;
    let connections: Vec<_> = (0..1_100).map(|_| TcpStream::connect(server.address()).unwrap()).collect();
    let closed = |stream: &TcpStream| matches!(stream.peek(&mut [0]), Ok(0) | Err(_));
    let last = connections.last().unwrap();
    last.set_read_timeout(Some(SOON)).unwrap();
    assert!(closed(last));
    healthy.call(Request::Ping).await.unwrap();
    drop(connections);
    wait_until("room for others", || server.four_letter("ruok").is_ok_and(|answer| answer == "imok"));
    assert!(server.is_connected(healthy.session_id()));
}

#[tokio::test]
async fn the_wall_clock_goes_forward_and_sessions_stay() {
    let server = server();
    let mut client = open(&server).await;
    create(&mut client, "/before", CreateFlags::EPHEMERAL).await.unwrap();
    let hour = Duration::from_secs(3600);
    server.advance_wall_clock(hour);
    create(&mut client, "/after", CreateFlags::EPHEMERAL).await.unwrap();
    server.restart().unwrap();
    let created = |path| server.node(path).expect("the session lives").ctime;
    let ahead = created("/after") - created("/before");
    assert!((3_600_000..3_660_000).contains(&ahead), "{ahead} ms");
}

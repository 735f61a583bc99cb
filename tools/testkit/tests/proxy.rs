//! The proxy in front of the embedded server, and in front of a server that the test itself plays.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{self, SocketAddr};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tokio_util::codec::Framed;
use zklock_testkit::conversation::ConversationError;
use zklock_testkit::wire::{
    CheckVersion, ConnectRequest, ConnectResponse, Create, CreateFlags, Delete, ErrorCode, EventType, Frames,
    Op, Opcode, Record, ReplyHeader, Request, RequestHeader, Response, SetData, WatchEvent, frames, xid,
};
use zklock_testkit::{Conversation, Direction, EmbeddedServer, How, Proxy, Rule, eventually};

const RESET: Result<(), ErrorKind> = Err(ErrorKind::ConnectionReset);
const IN_ORDER: Result<(), ErrorKind> = Ok(());
/// The longest wait for an event that must happen.
const SOON: Duration = Duration::from_secs(20);
/// The opcode of [`create`].
const CREATE: Opcode = Opcode::CREATE;

fn server() -> &'static EmbeddedServer {
    static SERVER: OnceLock<EmbeddedServer> = OnceLock::new();
    SERVER.get_or_init(|| EmbeddedServer::start().unwrap())
}

fn proxy() -> Proxy {
    Proxy::start(server().address()).unwrap()
}

async fn open(address: SocketAddr) -> Conversation {
    Conversation::open(address).await.unwrap()
}

/// Connects to the session of another connection.
async fn attach(proxy: &Proxy, to: &Conversation) -> Result<Conversation, ConversationError> {
    Conversation::connect(proxy.address(), ConnectRequest::attach(to.session())).await
}

/// Opens a direct connection, which shows the state of the server.
async fn observer() -> Conversation {
    open(server().address()).await
}

/// Sends a request, and waits for its answer, which must be the next frame except for events.
async fn ask(client: &mut Conversation, request: Request) -> Result<Response, ErrorCode> {
    client.call(request).await.unwrap().outcome
}

async fn exists(client: &mut Conversation, path: &str) -> bool {
    let found = ask(client, Request::Exists { path: path.into(), watch: false }).await;
    assert!(matches!(found, Ok(_) | Err(ErrorCode::NO_NODE)), "{found:?}");
    found.is_ok()
}

fn create(path: &str) -> Request {
    Request::Create(Create::new(path, "", CreateFlags::EPHEMERAL))
}

/// Waits for the end of a connection, before which no frame may come.
async fn ends(client: &mut Conversation) {
    assert_eq!(client.until_closed().await.unwrap(), []);
}

/// Waits for an event that must happen.
async fn soon<T>(event: impl Future<Output = T>) -> T {
    timeout(SOON, event).await.expect("it happens")
}

/// Polls until a state is reached for which there is no event.
#[track_caller]
fn wait_until(what: &str, mut state: impl FnMut() -> bool) {
    assert!(eventually(SOON, || state().then_some(())).is_some(), "never happened: {what}");
}

/// A client behind a proxy, and the server's end of its connection, which the test plays.
struct Played {
    proxy: Proxy,
    client: End,
    server: End,
}

/// The frames of one end of a connection.
type End = Framed<TcpStream, Frames>;

fn framed(stream: TcpStream) -> End {
    Framed::new(stream, frames(64 << 20))
}

/// Returns the next frame, or `None` at the end of the stream.
async fn receive(end: &mut End) -> std::io::Result<Option<Bytes>> {
    Ok(soon(end.next()).await.transpose()?.map(|frame| frame.freeze()))
}

/// Returns how a stream ends. No frame may come before its end.
async fn end(end: &mut End) -> Result<(), ErrorKind> {
    receive(end).await.map(|frame| assert_eq!(frame, None)).map_err(|error| error.kind())
}

/// Connects, and returns how the connection ends.
async fn end_at(address: SocketAddr) -> Result<(), ErrorKind> {
    // A reset may come before the connection is reported as open.
    match TcpStream::connect(address).await {
        Ok(client) => end(&mut framed(client)).await,
        Err(error) => Err(error.kind()),
    }
}

impl Played {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let proxy = Proxy::start(listener.local_addr().unwrap()).unwrap();
        let client = framed(TcpStream::connect(proxy.address()).await.unwrap());
        let mut played = Self { proxy, client, server: framed(listener.accept().await.unwrap().0) };
        played.sends(ConnectRequest::default().to_bytes()).await;
        let response = ConnectResponse { timeout: 1, session_id: 7, ..ConnectResponse::default() };
        played.answers(response.to_bytes()).await;
        played
    }

    /// Sends a frame to the server, where it arrives.
    async fn sends(&mut self, frame: Bytes) {
        self.client.send(frame.clone()).await.unwrap();
        assert_eq!(receive(&mut self.server).await.unwrap(), Some(frame));
    }

    /// Sends a frame to the client, where it arrives.
    async fn answers(&mut self, frame: Bytes) {
        self.server.send(frame.clone()).await.unwrap();
        assert_eq!(receive(&mut self.client).await.unwrap(), Some(frame));
    }
}

fn ping(xid: i32) -> Bytes {
    RequestHeader { xid, opcode: Opcode::PING }.to_bytes()
}

fn answer(xid: i32) -> Bytes {
    ReplyHeader { xid, zxid: 1, error: ErrorCode::OK }.to_bytes()
}

/// A path, a rule for its create, whether the node exists and the connection ends then, and the number of replies.
type Case = (&'static str, fn(&Proxy) -> Rule, [bool; 2], u64);

#[tokio::test]
async fn a_fault_of_a_create_has_its_effect_on_the_node_and_on_the_connection() {
    let cases: [Case; 4] = [
        ("/lost-reply", |proxy| proxy.on_reply(CREATE).cut(How::Fin), [true, true], 1),
        ("/cut-request", |proxy| proxy.on_request(CREATE).cut(How::Rst), [false, true], 0),
        ("/discarded-request", |proxy| proxy.on_request(CREATE).discard(), [false, false], 0),
        ("/discarded-reply", |proxy| proxy.on_reply(CREATE).discard(), [true, false], 1),
    ];
    for (path, arm, [is_created, has_ended], replies) in cases {
        let proxy = proxy();
        let mut client = open(proxy.address()).await;
        let rule = arm(&proxy);
        client.send(create(path)).await.unwrap();
        if has_ended {
            ends(&mut client).await;
            let back = attach(&proxy, &client).await.unwrap();
            assert_eq!(back.session_id(), client.session_id());
            client = back;
        }
        assert_eq!(exists(&mut client, path).await, is_created, "{path}");
        assert_eq!((rule.hits(), proxy.requests(CREATE), proxy.replies(CREATE)), (1, 1, replies), "{path}");
        let again = ask(&mut client, create(path)).await;
        assert_eq!(again.err(), is_created.then_some(ErrorCode::NODE_EXISTS), "{path}");
    }
}

#[tokio::test]
async fn replies_are_known_by_the_oldest_request_with_their_number() {
    let mut played = Played::start().await;
    let requests = [
        (1, CREATE),
        (xid::PING, Opcode::PING),
        (2, Opcode::MULTI),
        (xid::SET_WATCHES, Opcode::SET_WATCHES2),
        (2, Opcode::DELETE),
    ];
    // The server never answers this one.
    let discarded = played.proxy.on_request(Opcode::SYNC).discard();
    played.client.send(RequestHeader { xid: 2, opcode: Opcode::SYNC }.to_bytes()).await.unwrap();
    soon(discarded.struck()).await;
    for (xid, opcode) in requests {
        played.sends(RequestHeader { xid, opcode }.to_bytes()).await;
    }
    for (xid, opcode) in [requests[0], requests[2], requests[1], requests[3], requests[4]] {
        assert_eq!(played.proxy.replies(opcode), 0, "{opcode}");
        played.answers(answer(xid)).await;
        assert_eq!(played.proxy.replies(opcode), 1, "{opcode}");
    }
    let before = played.proxy.counts().replies_total();
    played.answers(answer(2)).await;
    assert_eq!(played.proxy.counts().replies_total(), before + 1);
    assert_eq!(played.proxy.replies(Opcode::DELETE), 1, "no request had this reply");
}

#[tokio::test]
async fn a_lost_notification_is_not_seen() {
    let proxy = proxy();
    let mut client = open(proxy.address()).await;
    let discarded = proxy.on_notification().discard();
    ask(&mut client, create("/notification")).await.unwrap();
    for version in 0..2 {
        ask(&mut client, Request::Exists { path: "/notification".into(), watch: true }).await.unwrap();
        let set = SetData { path: "/notification".into(), data: None, version };
        ask(&mut observer().await, Request::SetData(set)).await.unwrap();
        if version == 0 {
            soon(discarded.struck()).await;
        }
    }
    let expected = WatchEvent { event: EventType::DataChanged, path: "/notification".into() };
    assert_eq!(client.event().await.unwrap(), expected);
    assert_eq!((discarded.hits(), proxy.counts().notifications()), (1, 2));
}

#[tokio::test]
async fn a_held_create_arrives_when_it_is_released_though_its_client_has_gone() {
    let proxy = proxy();
    let mut client = open(proxy.address()).await;
    let held = proxy.on_request(CREATE).hold();
    client.send(create("/held")).await.unwrap();
    soon(held.struck()).await;
    assert_eq!(proxy.sessions(), [client.session_id()]);
    proxy.cut(How::Rst);
    assert_eq!(proxy.sessions(), [0_i64; 0]);
    ends(&mut client).await;
    let mut observer = observer().await;
    assert!(!exists(&mut observer, "/held").await);
    held.release();
    soon(async { while !exists(&mut observer, "/held").await {} }).await;
    let mut back = attach(&proxy, &client).await.unwrap();
    assert_eq!(ask(&mut back, create("/held")).await, Err(ErrorCode::NODE_EXISTS));
    assert_eq!(held.hits(), 1);
}

#[tokio::test]
async fn a_held_reply_holds_those_behind_it_until_the_rules_are_cleared() {
    let mut played = Played::start().await;
    let held = played.proxy.on_any_reply().hold();
    for xid in 1..=2 {
        played.sends(ping(xid)).await;
        played.server.send(answer(xid)).await.unwrap();
    }
    soon(held.struck()).await;
    wait_until("both replies arrive", || played.proxy.replies(Opcode::PING) == 2);
    assert_eq!(played.client.get_ref().try_read(&mut [0]).unwrap_err().kind(), ErrorKind::WouldBlock);
    played.proxy.clear();
    for xid in 1..=2 {
        assert_eq!(receive(&mut played.client).await.unwrap(), Some(answer(xid)));
    }
}

#[tokio::test]
async fn a_delayed_frame_delays_those_behind_it() {
    const DELAY: Duration = Duration::from_millis(150);
    async fn three_are_late(from: &mut End, to: &mut End, frame: fn(i32) -> Bytes) {
        let start = Instant::now();
        for xid in 1..=3 {
            from.send(frame(xid)).await.unwrap();
        }
        for xid in 1..=3 {
            assert_eq!(receive(to).await.unwrap(), Some(frame(xid)));
        }
        assert!(start.elapsed() >= DELAY);
    }
    let Played { proxy, mut client, mut server } = Played::start().await;
    proxy.on_request(Opcode::PING).nth(2).delay(DELAY);
    proxy.on_reply(Opcode::PING).nth(2).delay(DELAY);
    three_are_late(&mut client, &mut server, ping).await;
    three_are_late(&mut server, &mut client, answer).await;
}

#[tokio::test]
async fn rewritten_frames_are_passed_on() {
    let mut played = Played::start().await;
    played.proxy.on_request(Opcode::PING).rewrite(|_| ping(9).to_vec());
    played.client.send(ping(1)).await.unwrap();
    assert_eq!(receive(&mut played.server).await.unwrap(), Some(ping(9)));
    played.proxy.on_any_reply().rewrite(|body| body[..2].to_vec());
    played.server.send(answer(9)).await.unwrap();
    assert_eq!(receive(&mut played.client).await.unwrap(), Some(answer(9).slice(..2)));
    assert_eq!((played.proxy.replies(Opcode::PING), played.proxy.counts().replies_total()), (0, 2));
}

#[tokio::test]
async fn rules_strike_the_frames_they_count_to_and_the_first_wins() {
    let mut played = Played::start().await;
    let second = played.proxy.on_request(Opcode::PING).nth(2).times(2).discard();
    let first = played.proxy.on_any_request().discard();
    let all = played.proxy.on_request(Opcode::PING).always().rewrite(|_| ping(9).to_vec());
    for xid in 1..=5 {
        played.client.send(ping(xid)).await.unwrap();
    }
    soon(second.struck_times(2)).await;
    for _ in 4..=5 {
        assert_eq!(receive(&mut played.server).await.unwrap(), Some(ping(9)));
    }
    assert_eq!([second.hits(), first.hits(), all.hits()], [2, 1, 2]);
    played.proxy.clear();
    played.sends(ping(6)).await;
}

#[tokio::test]
async fn rules_for_successes_and_for_new_nodes_pass_all_other_replies() {
    let proxy = proxy();
    let mut client = open(proxy.address()).await;
    let created = proxy.on_created().always().delay(Duration::ZERO);
    let successes = proxy.on_success(CREATE).always().delay(Duration::ZERO);
    let node = |path: &str| Create::new(path, "", CreateFlags::EPHEMERAL);
    for (request, is_done, hits) in [
        (create("/success"), true, (0, 1)),
        (create("/success"), false, (0, 1)),
        (Request::Create2(node("/new-1")), true, (1, 1)),
        (Request::Create2(node("/new-1")), false, (1, 1)),
        (Request::Multi(vec![Op::CreateContainer(node("/new-2"))]), true, (2, 1)),
        (Request::Multi(vec![Op::Check(CheckVersion { path: "/".into(), version: -1 })]), true, (2, 1)),
        (Request::Multi(vec![Op::Create(node("/new-2"))]), true, (2, 1)),
        (Request::Multi(Vec::new()), true, (2, 1)),
    ] {
        assert_eq!(ask(&mut client, request.clone()).await.is_ok(), is_done, "{request:?}");
        assert_eq!((created.hits(), successes.hits()), hits, "{request:?}");
    }
}

#[tokio::test]
async fn both_sides_see_how_a_connection_is_cut() {
    for (how, expected) in [(How::Fin, IN_ORDER), (How::Rst, RESET)] {
        let mut played = Played::start().await;
        played.proxy.cut(how);
        assert_eq!([end(&mut played.client).await, end(&mut played.server).await], [expected; 2]);
        let mut played = Played::start().await;
        played.proxy.on_request(Opcode::PING).cut(how);
        played.client.send(ping(1)).await.unwrap();
        assert_eq!([end(&mut played.client).await, end(&mut played.server).await], [expected; 2]);
    }
}

#[tokio::test]
async fn each_side_sees_how_the_other_ends() {
    for (how, expected) in [(How::Fin, IN_ORDER), (How::Rst, RESET)] {
        let quit = |framed: End| {
            if how == How::Rst {
                framed.get_ref().set_zero_linger().unwrap();
            }
        };
        let Played { proxy, client, mut server } = Played::start().await;
        quit(client);
        assert_eq!(end(&mut server).await, expected);
        wait_until("the session has gone", || proxy.sessions().is_empty());
        let Played { proxy: _proxy, mut client, server } = Played::start().await;
        quit(server);
        assert_eq!(end(&mut client).await, expected);
    }
}

#[tokio::test]
async fn nothing_reaches_the_server_through_a_blackhole_until_it_heals() {
    let proxy = proxy();
    let mut client = open(proxy.address()).await;
    let mut observer = observer().await;
    proxy.blackhole(Direction::ToServer);
    let xid = client.send(create("/blackhole-to-server")).await.unwrap();
    wait_until("the request arrives", || proxy.requests(CREATE) == 1);
    assert!(!exists(&mut observer, "/blackhole-to-server").await);
    proxy.heal();
    client.reply(xid).await.unwrap();
    assert!(exists(&mut observer, "/blackhole-to-server").await);
}

#[tokio::test]
async fn nothing_reaches_clients_through_a_blackhole() {
    let proxy = proxy();
    let mut client = open(proxy.address()).await;
    proxy.blackhole(Direction::ToClient);
    client.send(create("/blackhole-to-client")).await.unwrap();
    wait_until("the reply arrives", || proxy.replies(CREATE) == 1);
    assert!(exists(&mut observer().await, "/blackhole-to-client").await);
    proxy.cut(How::Fin);
    // The reply came before the cut, so the client would see it first.
    ends(&mut client).await;
}

#[tokio::test]
async fn the_end_of_a_connection_does_not_pass_a_blackhole() {
    let Played { proxy, client, mut server } = Played::start().await;
    proxy.blackhole(Direction::Both);
    drop(client);
    wait_until("the session has gone", || proxy.sessions().is_empty());
    assert_eq!(server.get_ref().try_read(&mut [0]).unwrap_err().kind(), ErrorKind::WouldBlock);
    proxy.heal();
    assert_eq!(end(&mut server).await, IN_ORDER);
}

#[tokio::test]
async fn a_connection_made_in_a_blackhole_lives_only_if_its_client_stays() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let proxy = Proxy::start(listener.local_addr().unwrap()).unwrap();
    for direction in [Direction::ToServer, Direction::ToClient, Direction::Both] {
        proxy.blackhole(direction);
        let before = proxy.connections();
        let mut gone = TcpStream::connect(proxy.address()).await.unwrap();
        gone.write_all(b"gone").await.unwrap();
        gone.shutdown().await.unwrap();
        // The proxy closes the connection only after it has noticed that the client is gone.
        assert_eq!(soon(gone.read(&mut [0])).await.unwrap(), 0);
        let mut stays = TcpStream::connect(proxy.address()).await.unwrap();
        stays.write_all(b"stay").await.unwrap();
        wait_until("both are accepted", || proxy.connections() == before + 2);
        proxy.heal();
        let (mut server, _) = soon(listener.accept()).await.unwrap();
        let mut received = [0; 4];
        server.read_exact(&mut received).await.unwrap();
        assert_eq!(&received, b"stay");
    }
}

#[tokio::test]
async fn a_slow_link_takes_its_time_in_each_direction() {
    const DELAY: Duration = Duration::from_millis(100);
    let mut played = Played::start().await;
    let cases = [(Direction::ToServer, 1), (Direction::ToClient, 1), (Direction::Both, 2)];
    for (direction, delays) in cases {
        played.proxy.delay(direction, DELAY);
        let start = Instant::now();
        played.sends(ping(1)).await;
        played.answers(answer(1)).await;
        assert!(start.elapsed() >= DELAY * delays, "{direction:?}");
        played.proxy.heal();
    }
    played.proxy.delay(Direction::Both, SOON * 100);
    played.client.send(ping(2)).await.unwrap();
    wait_until("the request arrives", || played.proxy.requests(Opcode::PING) == 4);
    played.proxy.heal();
    assert_eq!(receive(&mut played.server).await.unwrap(), Some(ping(2)));
}

#[tokio::test]
async fn new_connections_are_refused_until_the_link_heals_and_while_the_server_does_not_run() {
    let proxy = proxy();
    let mut client = open(proxy.address()).await;
    proxy.refuse();
    let refused = attach(&proxy, &client).await.expect_err("the connection is refused");
    assert!(matches!(refused, ConversationError::Closed), "{refused}");
    assert_eq!(end_at(proxy.address()).await, RESET);
    ask(&mut client, Request::Ping).await.unwrap();
    assert_eq!(proxy.connections(), 1);
    proxy.heal();
    open(proxy.address()).await;
    assert_eq!(proxy.connections(), 2);
    let unused = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    assert_eq!(end_at(Proxy::start(unused).unwrap().address()).await, RESET);
}

#[tokio::test]
async fn counts_are_exact() {
    let proxy = proxy();
    ask(&mut open(proxy.address()).await, Request::Ping).await.unwrap();
    let before = proxy.counts();
    let mut client = open(proxy.address()).await;
    ask(&mut client, create("/counted")).await.unwrap();
    ask(&mut client, Request::GetData { path: "/counted".into(), watch: true }).await.unwrap();
    assert!(!exists(&mut client, "/not-counted").await);
    ask(&mut client, Request::Ping).await.unwrap();
    ask(&mut client, Request::Ping).await.unwrap();
    let delete = Delete { path: "/counted".into(), version: -1 };
    ask(&mut observer().await, Request::Delete(delete)).await.unwrap();
    client.event().await.unwrap();
    ask(&mut client, Request::CloseSession).await.unwrap();
    let counts = proxy.counts() - before;
    let expected = [
        (Opcode::CREATE_SESSION, 1),
        (Opcode::CREATE, 1),
        (Opcode::GET_DATA, 1),
        (Opcode::EXISTS, 1),
        (Opcode::PING, 2),
        (Opcode::CLOSE_SESSION, 1),
        (Opcode::DELETE, 0),
    ];
    for (opcode, expected) in expected {
        assert_eq!((counts.requests(opcode), counts.replies(opcode)), (expected, expected), "{opcode}");
    }
    assert_eq!((counts.requests_total(), counts.replies_total()), (7, 7));
    assert_eq!((counts.notifications(), counts.connections()), (1, 1));
    assert_eq!(proxy.requests_total(), 9);
}

#[tokio::test]
async fn malformed_frames_end_their_connection_only() {
    let proxy = proxy();
    let mut other = open(proxy.address()).await;
    let negative_length = &[0xff; 8][..];
    let half_a_header = &[0, 0, 0, 4, 0, 0, 0, 1][..];
    for bytes in [negative_length, half_a_header] {
        let mut client = open(proxy.address()).await;
        client.send_bytes(bytes).await.unwrap();
        ends(&mut client).await;
        let mut first = framed(TcpStream::connect(proxy.address()).await.unwrap());
        first.get_mut().write_all(bytes).await.unwrap();
        assert_eq!(end(&mut first).await, IN_ORDER);

        for is_of_server in [false, true] {
            let mut played = Played::start().await;
            let sender = if is_of_server { &mut played.server } else { &mut played.client };
            sender.get_mut().write_all(bytes).await.unwrap();
            assert_eq!([end(&mut played.client).await, end(&mut played.server).await], [IN_ORDER; 2]);
        }
    }
    ask(&mut other, Request::Ping).await.unwrap();
}

#[tokio::test]
async fn a_long_list_passes() {
    const CHILDREN: usize = 1600;
    let proxy = proxy();
    let mut client = open(proxy.address()).await;
    let persistent = |path: String| Request::Create(Create::new(path, Bytes::new(), CreateFlags::PERSISTENT));
    ask(&mut client, persistent("/long".into())).await.unwrap();
    for child in 0..CHILDREN {
        client.send(persistent(format!("/long/{child:01000}"))).await.unwrap();
    }
    for xid in 2..2 + CHILDREN as i32 {
        client.reply(xid).await.unwrap().outcome.unwrap();
    }
    let list = Request::GetChildren { path: "/long".into(), watch: false };
    let Ok(Response::Children(names)) = ask(&mut client, list).await else { panic!("no list") };
    assert_eq!(names.len(), CHILDREN);
    assert!(names.iter().map(String::len).sum::<usize>() > 3 << 19);
}

#[test]
fn a_four_letter_word_passes_without_a_runtime() {
    let proxy = proxy();
    assert_eq!(proxy.connect_string(), proxy.address().to_string());
    let mut stream = net::TcpStream::connect(proxy.address()).unwrap();
    stream.set_read_timeout(Some(SOON)).unwrap();
    stream.write_all(b"ruok").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert_eq!(answer, "imok");
    assert_eq!((proxy.connections(), proxy.requests_total()), (1, 0));
}

/// The system may give the port of a listener that is gone to a connection that starts from the same address.
#[test]
fn a_proxy_listens_where_no_connection_starts() {
    let proxy = proxy();
    let client = net::TcpStream::connect(proxy.address()).unwrap();
    assert!(proxy.address().ip().is_loopback());
    assert_ne!(client.local_addr().unwrap().ip(), proxy.address().ip());
}

#[tokio::test]
async fn a_dropped_proxy_leaves_nothing() {
    let proxy = proxy();
    let mut client = open(proxy.address()).await;
    let address = proxy.address();
    let thread = format!("zk-proxy-{}\n", address.port());
    let runs = || {
        let tasks = fs::read_dir("/proc/self/task").unwrap();
        let mut names = tasks.filter_map(|task| fs::read_to_string(task.unwrap().path().join("comm")).ok());
        names.any(|name| name == thread)
    };
    assert!(runs());
    proxy.blackhole(Direction::Both);
    proxy.on_request(Opcode::PING).hold();
    client.send(Request::Ping).await.unwrap();
    drop(proxy);
    assert!(eventually(SOON, || (!runs()).then_some(())).is_some());
    assert_eq!(TcpStream::connect(address).await.unwrap_err().kind(), ErrorKind::ConnectionRefused);
    ends(&mut client).await;
}

//! The proxy in front of the embedded server, and in front of a server that the test itself plays.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use zklock_testkit::wire::{
    ConnectResponse, Create, CreateFlags, ErrorCode, EventType, Opcode, Record, ReplyHeader, Request,
    Response, SetData, WatchEvent, xid,
};
use zklock_testkit::{Direction, EmbeddedServer, How, Proxy, eventually};

#[path = "proxy/client.rs"]
mod client;

use client::{CREATE, Client, Framed, SOON, Session, connect_request, create, request_frame};

const RESET: Result<(), ErrorKind> = Err(ErrorKind::ConnectionReset);
const IN_ORDER: Result<(), ErrorKind> = Ok(());

fn server() -> &'static EmbeddedServer {
    static SERVER: OnceLock<EmbeddedServer> = OnceLock::new();
    SERVER.get_or_init(|| EmbeddedServer::start().unwrap())
}

fn proxy() -> Proxy {
    Proxy::start(server().address()).unwrap()
}

/// Opens a direct connection, which shows the state of the server.
async fn observer() -> Client {
    Client::open(server().address()).await
}

/// Waits for an event that must happen.
async fn soon<T>(event: impl Future<Output = T>) -> T {
    timeout(SOON, event).await.expect("it happens")
}

/// Polls until a state is reached for which there is no event.
async fn wait_until(what: &str, mut state: impl FnMut() -> bool) {
    let wait = async {
        while !state() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    timeout(SOON, wait).await.unwrap_or_else(|_| panic!("never happened: {what}"));
}

/// A client behind a proxy, and the server's end of its connection, which the test plays.
struct Played {
    proxy: Proxy,
    client: Framed,
    server: Framed,
}

const SESSION: i64 = 7;

impl Played {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let proxy = Proxy::start(listener.local_addr().unwrap()).unwrap();
        let mut client = Framed::new(TcpStream::connect(proxy.address()).await.unwrap());
        let session = Session { id: 0, password: Bytes::new() };
        client.send(connect_request(&session).to_bytes()).await.unwrap();
        let mut server = Framed::new(listener.accept().await.unwrap().0);
        assert_eq!(server.receive().await.unwrap(), Some(connect_request(&session).to_bytes()));
        let response = ConnectResponse {
            protocol_version: 0,
            timeout: 1,
            session_id: SESSION,
            password: None,
            read_only: None,
        };
        server.send(response.to_bytes()).await.unwrap();
        assert_eq!(client.receive().await.unwrap(), Some(response.to_bytes()));
        Self { proxy, client, server }
    }

    async fn ask(&mut self, xid: i32) {
        self.client.send(ping(xid)).await.unwrap();
        assert_eq!(self.server.receive().await.unwrap(), Some(ping(xid)));
    }
}

fn ping(xid: i32) -> Bytes {
    request_frame(xid, &Request::Ping)
}

fn answer(xid: i32) -> Bytes {
    ReplyHeader { xid, zxid: 1, error: ErrorCode::OK }.to_bytes()
}

/// Returns how a stream ends. No frame may come before its end.
async fn end(framed: &mut Framed) -> Result<(), ErrorKind> {
    framed.receive().await.map(|frame| assert_eq!(frame, None)).map_err(|error| error.kind())
}

#[tokio::test]
async fn a_create_whose_reply_is_lost_has_created() {
    let proxy = proxy();
    let mut client = Client::open(proxy.address()).await;
    let lost = proxy.on_reply(CREATE).cut(How::Fin);
    client.send(&create("/lost-reply")).await;
    assert_eq!(client.end().await, IN_ORDER);
    assert_eq!(lost.hits(), 1);
    assert!(observer().await.exists("/lost-reply").await);
    let mut back = Client::attach(proxy.address(), &client.session).await.unwrap().unwrap();
    assert_eq!(back.session.id, client.session.id);
    assert_eq!(back.ask(create("/lost-reply")).await, Err(ErrorCode::NODE_EXISTS));
}

#[tokio::test]
async fn a_create_that_is_cut_has_not_created() {
    let proxy = proxy();
    let mut client = Client::open(proxy.address()).await;
    let cut = proxy.on_request(CREATE).cut(How::Rst);
    client.send(&create("/cut-request")).await;
    assert_eq!(client.end().await, RESET);
    assert_eq!(cut.hits(), 1);
    let mut back = Client::attach(proxy.address(), &client.session).await.unwrap().unwrap();
    assert!(!back.exists("/cut-request").await);
    back.ask(create("/cut-request")).await.unwrap();
}

#[tokio::test]
async fn a_discarded_request_never_reaches_the_server() {
    let proxy = proxy();
    let mut client = Client::open(proxy.address()).await;
    let discarded = proxy.on_request(CREATE).discard();
    client.send(&create("/discarded-request")).await;
    assert!(!client.exists("/discarded-request").await);
    assert_eq!((discarded.hits(), proxy.requests(CREATE), proxy.replies(CREATE)), (1, 1, 0));
}

#[tokio::test]
async fn a_discarded_request_is_not_taken_for_one_that_was_answered() {
    let mut played = Played::start().await;
    let discarded = played.proxy.on_request(CREATE).discard();
    played.client.send(request_frame(1, &create("/never-answered"))).await.unwrap();
    soon(discarded.struck()).await;
    played.ask(1).await;
    played.server.send(answer(1)).await.unwrap();
    assert_eq!(played.client.receive().await.unwrap(), Some(answer(1)));
    assert_eq!((played.proxy.replies(CREATE), played.proxy.replies(Opcode::PING)), (0, 1));
}

#[tokio::test]
async fn a_discarded_reply_leaves_the_connection_open() {
    let proxy = proxy();
    let mut client = Client::open(proxy.address()).await;
    let discarded = proxy.on_reply(CREATE).discard();
    client.send(&create("/discarded-reply")).await;
    assert!(client.exists("/discarded-reply").await);
    assert_eq!((discarded.hits(), proxy.requests(CREATE), proxy.replies(CREATE)), (1, 1, 1));
}

#[tokio::test]
async fn a_lost_notification_is_not_seen() {
    let proxy = proxy();
    let mut client = Client::open(proxy.address()).await;
    let discarded = proxy.on_notification().discard();
    client.ask(create("/notification")).await.unwrap();
    for version in 0..2 {
        client.ask(Request::Exists { path: "/notification".into(), watch: true }).await.unwrap();
        let set = SetData { path: "/notification".into(), data: None, version };
        observer().await.ask(Request::SetData(set)).await.unwrap();
        if version == 0 {
            soon(discarded.struck()).await;
        }
    }
    let (header, body) = client.reply().await;
    assert_eq!(header.xid, xid::NOTIFICATION);
    let expected = WatchEvent { event: EventType::DataChanged, path: "/notification".into() };
    assert_eq!(WatchEvent::from_bytes(body), Ok(expected));
    assert_eq!((discarded.hits(), proxy.notifications()), (1, 2));
}

#[tokio::test]
async fn a_held_create_arrives_when_it_is_released_though_its_client_has_gone() {
    let proxy = proxy();
    let mut client = Client::open(proxy.address()).await;
    let held = proxy.on_request(CREATE).hold();
    client.send(&create("/held")).await;
    soon(held.struck()).await;
    assert_eq!(proxy.sessions(), [client.session.id]);
    proxy.cut(How::Rst);
    assert_eq!(proxy.sessions(), [0_i64; 0]);
    assert_eq!(client.end().await, RESET);
    let mut observer = observer().await;
    assert!(!observer.exists("/held").await);
    held.release();
    observer.wait_for("/held").await;
    let mut back = Client::attach(proxy.address(), &client.session).await.unwrap().unwrap();
    assert_eq!(back.ask(create("/held")).await, Err(ErrorCode::NODE_EXISTS));
    assert_eq!(held.hits(), 1);
}

#[tokio::test]
async fn a_held_reply_holds_those_behind_it_until_the_rules_are_cleared() {
    let mut played = Played::start().await;
    let held = played.proxy.on_any_reply().hold();
    for xid in 1..=2 {
        played.ask(xid).await;
        played.server.send(answer(xid)).await.unwrap();
    }
    soon(held.struck()).await;
    wait_until("both replies arrive", || played.proxy.replies(Opcode::PING) == 2).await;
    assert_eq!(played.client.stream.try_read(&mut [0]).unwrap_err().kind(), ErrorKind::WouldBlock);
    played.proxy.clear();
    for xid in 1..=2 {
        assert_eq!(played.client.receive().await.unwrap(), Some(answer(xid)));
    }
}

#[tokio::test]
async fn a_delayed_frame_delays_those_behind_it() {
    const DELAY: Duration = Duration::from_millis(150);
    let mut played = Played::start().await;
    let start = Instant::now();
    played.proxy.on_request(Opcode::PING).nth(2).delay(DELAY);
    played.proxy.on_reply(Opcode::PING).nth(2).delay(DELAY);
    for xid in 1..=3 {
        played.client.send(ping(xid)).await.unwrap();
    }
    for xid in 1..=3 {
        assert_eq!(played.server.receive().await.unwrap(), Some(ping(xid)));
    }
    assert!(start.elapsed() >= DELAY);
    let start = Instant::now();
    for xid in 1..=3 {
        played.server.send(answer(xid)).await.unwrap();
    }
    for xid in 1..=3 {
        assert_eq!(played.client.receive().await.unwrap(), Some(answer(xid)));
    }
    assert!(start.elapsed() >= DELAY);
}

#[tokio::test]
async fn rewritten_frames_are_passed_on() {
    let mut played = Played::start().await;
    played.proxy.on_request(Opcode::PING).rewrite(|_| ping(9).to_vec());
    played.client.send(ping(1)).await.unwrap();
    assert_eq!(played.server.receive().await.unwrap(), Some(ping(9)));
    played.proxy.on_any_reply().rewrite(|body| body[..2].to_vec());
    played.server.send(answer(9)).await.unwrap();
    assert_eq!(played.client.receive().await.unwrap(), Some(answer(9).slice(..2)));
    assert_eq!((played.proxy.replies(Opcode::PING), played.proxy.counts().replies_total()), (0, 2));
}

#[tokio::test]
async fn truncated_frames_end_their_connection() {
    let expected = |body: &Bytes, keep: usize| [&body.len().to_be_bytes()[4..], &body[..keep]].concat();
    let mut played = Played::start().await;
    played.proxy.on_request(Opcode::PING).truncate(3);
    played.client.send(ping(1)).await.unwrap();
    let mut received = Vec::new();
    soon(played.server.stream.read_to_end(&mut received)).await.unwrap();
    assert_eq!(received, expected(&ping(1), 3));
    assert_eq!(end(&mut played.client).await, IN_ORDER);

    let mut played = Played::start().await;
    played.proxy.on_reply(Opcode::PING).truncate(100);
    played.ask(1).await;
    played.server.send(answer(1)).await.unwrap();
    let mut received = Vec::new();
    soon(played.client.stream.read_to_end(&mut received)).await.unwrap();
    assert_eq!(received, expected(&answer(1), 16));
    assert_eq!(end(&mut played.server).await, IN_ORDER);
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
        assert_eq!(played.server.receive().await.unwrap(), Some(ping(9)));
    }
    assert_eq!([second.hits(), first.hits(), all.hits()], [2, 1, 2]);
    played.proxy.clear();
    played.ask(6).await;
}

#[tokio::test]
async fn both_sides_see_how_a_connection_is_cut() {
    for (how, expected) in [(How::Fin, IN_ORDER), (How::Rst, RESET)] {
        let mut played = Played::start().await;
        played.proxy.cut(how);
        assert_eq!(end(&mut played.client).await, expected);
        assert_eq!(end(&mut played.server).await, expected);

        let mut played = Played::start().await;
        played.proxy.on_request(Opcode::PING).cut(how);
        played.client.send(ping(1)).await.unwrap();
        assert_eq!(end(&mut played.client).await, expected);
        assert_eq!(end(&mut played.server).await, expected);
    }
}

#[tokio::test]
async fn each_side_sees_how_the_other_ends() {
    for (how, expected) in [(How::Fin, IN_ORDER), (How::Rst, RESET)] {
        let quit = |framed: Framed| {
            if how == How::Rst {
                framed.stream.set_zero_linger().unwrap();
            }
        };
        let Played { proxy, client, mut server } = Played::start().await;
        quit(client);
        assert_eq!(end(&mut server).await, expected);
        wait_until("the session has gone", || proxy.sessions().is_empty()).await;
        let Played { proxy: _proxy, mut client, server } = Played::start().await;
        quit(server);
        assert_eq!(end(&mut client).await, expected);
    }
}

#[tokio::test]
async fn nothing_reaches_the_server_through_a_blackhole_until_it_heals() {
    let proxy = proxy();
    let mut client = Client::open(proxy.address()).await;
    let mut observer = observer().await;
    proxy.blackhole(Direction::ToServer);
    let xid = client.send(&create("/blackhole-to-server")).await;
    wait_until("the request arrives", || proxy.requests(CREATE) == 1).await;
    assert!(!observer.exists("/blackhole-to-server").await);
    proxy.heal();
    assert_eq!(client.reply().await.0.xid, xid);
    assert!(observer.exists("/blackhole-to-server").await);
}

#[tokio::test]
async fn nothing_reaches_clients_through_a_blackhole() {
    let proxy = proxy();
    let mut client = Client::open(proxy.address()).await;
    proxy.blackhole(Direction::ToClient);
    client.send(&create("/blackhole-to-client")).await;
    wait_until("the reply arrives", || proxy.replies(CREATE) == 1).await;
    assert!(observer().await.exists("/blackhole-to-client").await);
    proxy.cut(How::Fin);
    // The reply came before the cut, so the client would see it first.
    assert_eq!(client.end().await, IN_ORDER);
}

#[tokio::test]
async fn the_end_of_a_connection_does_not_pass_a_blackhole() {
    let Played { proxy, client, mut server } = Played::start().await;
    proxy.blackhole(Direction::Both);
    drop(client);
    wait_until("the session has gone", || proxy.sessions().is_empty()).await;
    assert_eq!(server.stream.try_read(&mut [0]).unwrap_err().kind(), ErrorKind::WouldBlock);
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
        wait_until("both are accepted", || proxy.connections() == before + 2).await;
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
        played.ask(1).await;
        played.server.send(answer(1)).await.unwrap();
        assert_eq!(played.client.receive().await.unwrap(), Some(answer(1)));
        assert!(start.elapsed() >= DELAY * delays, "{direction:?}");
        played.proxy.heal();
    }
    played.proxy.delay(Direction::Both, SOON * 100);
    played.client.send(ping(2)).await.unwrap();
    wait_until("the request arrives", || played.proxy.requests(Opcode::PING) == 4).await;
    played.proxy.heal();
    assert_eq!(played.server.receive().await.unwrap(), Some(ping(2)));
}

#[tokio::test]
async fn new_connections_are_refused_until_the_link_heals() {
    let proxy = proxy();
    let mut client = Client::open(proxy.address()).await;
    proxy.refuse();
    let refused = Client::attach(proxy.address(), &client.session).await;
    let refused = refused.err().expect("the connection is refused").kind();
    assert!(matches!(refused, ErrorKind::ConnectionReset | ErrorKind::BrokenPipe), "{refused}");
    client.ask(Request::Ping).await.unwrap();
    assert_eq!(proxy.connections(), 1);
    proxy.heal();
    Client::open(proxy.address()).await;
    assert_eq!(proxy.connections(), 2);
}

#[tokio::test]
async fn counts_are_exact() {
    let proxy = proxy();
    Client::open(proxy.address()).await.ask(Request::Ping).await.unwrap();
    let before = proxy.counts();
    let mut client = Client::open(proxy.address()).await;
    client.ask(create("/counted")).await.unwrap();
    client.ask(Request::GetData { path: "/counted".into(), watch: true }).await.unwrap();
    assert!(!client.exists("/not-counted").await);
    client.ask(Request::Ping).await.unwrap();
    client.ask(Request::Ping).await.unwrap();
    observer().await.ask(Request::Delete(delete("/counted"))).await.unwrap();
    assert_eq!(client.reply().await.0.xid, xid::NOTIFICATION);
    client.ask(Request::CloseSession).await.unwrap();
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

fn delete(path: &str) -> zklock_testkit::wire::Delete {
    zklock_testkit::wire::Delete { path: path.into(), version: -1 }
}

#[tokio::test]
async fn malformed_frames_end_their_connection_only() {
    let proxy = proxy();
    let mut other = Client::open(proxy.address()).await;
    let negative_length = &[0xff; 8][..];
    let half_a_header = &[0, 0, 0, 4, 0, 0, 0, 1][..];
    for bytes in [negative_length, half_a_header] {
        let mut client = Client::open(proxy.address()).await;
        client.wire.stream.write_all(bytes).await.unwrap();
        assert_eq!(client.end().await, IN_ORDER);
        let mut first = Framed::new(TcpStream::connect(proxy.address()).await.unwrap());
        first.stream.write_all(bytes).await.unwrap();
        assert_eq!(end(&mut first).await, IN_ORDER);

        let mut played = Played::start().await;
        played.server.stream.write_all(bytes).await.unwrap();
        assert_eq!(end(&mut played.client).await, IN_ORDER);
        assert_eq!(end(&mut played.server).await, IN_ORDER);
    }
    other.ask(Request::Ping).await.unwrap();
}

#[tokio::test]
async fn a_long_list_passes() {
    const CHILDREN: usize = 1600;
    let proxy = proxy();
    let mut client = Client::open(proxy.address()).await;
    let persistent = |path: String| Request::Create(Create::new(path, Bytes::new(), CreateFlags::PERSISTENT));
    client.ask(persistent("/long".into())).await.unwrap();
    for child in 0..CHILDREN {
        client.send(&persistent(format!("/long/{child:01000}"))).await;
    }
    for _ in 0..CHILDREN {
        assert_eq!(client.reply().await.0.error, ErrorCode::OK);
    }
    let list = Request::GetChildren { path: "/long".into(), watch: false };
    let Ok(Response::Children(names)) = client.ask(list).await else { panic!("no list") };
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
async fn a_server_that_does_not_run_resets_clients() {
    let unused = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let proxy = Proxy::start(unused).unwrap();
    // The reset may come before the connection is reported as open.
    let ended = match TcpStream::connect(proxy.address()).await {
        Ok(client) => end(&mut Framed::new(client)).await,
        Err(error) => Err(error.kind()),
    };
    assert_eq!(ended, RESET);
}

#[tokio::test]
async fn a_dropped_proxy_leaves_nothing() {
    let proxy = proxy();
    let mut client = Client::open(proxy.address()).await;
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
    client.send(&Request::Ping).await;
    drop(proxy);
    assert!(eventually(SOON, || (!runs()).then_some(())).is_some());
    assert_eq!(TcpStream::connect(address).await.unwrap_err().kind(), ErrorKind::ConnectionRefused);
    assert!(matches!(client.end().await, IN_ORDER | RESET));
}

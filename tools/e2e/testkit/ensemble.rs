//! Three real ZooKeeper servers that replicate each other.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use bytes::Bytes;
use zklock_testkit::wire::{
    ConnectRequest, ConnectResponse, Create, CreateFlags, ErrorCode, Record, ReplyHeader, Request,
    RequestHeader, Response, Writer,
};
use zklock_testkit::{Ensemble, Error, ZooKeeper, eventually};

use crate::process::{Owner, owner_orders, process_state, tell_of, wait_to_be_killed, wait_until};

const ANSWER_WITHIN: Duration = Duration::from_secs(5);

const SERVE_WITHIN: Duration = Duration::from_secs(20);

/// A session on one server, without a client library that would move it to another one.
struct Session {
    stream: TcpStream,
}

impl Session {
    fn open(server: &ZooKeeper) -> Self {
        let opened = eventually(SERVE_WITHIN, || Self::try_open(server).ok());
        opened.unwrap_or_else(|| panic!("no session on {}", server.address()))
    }

    fn try_open(server: &ZooKeeper) -> io::Result<Self> {
        let stream = TcpStream::connect(server.address())?;
        stream.set_read_timeout(Some(ANSWER_WITHIN))?;
        let mut session = Self { stream };
        let connect = ConnectRequest {
            protocol_version: 0,
            last_zxid_seen: 0,
            timeout: 30_000,
            session_id: 0,
            password: Some(Bytes::from_static(&[0; 16])),
            read_only: None,
        };
        session.send(&connect.to_bytes())?;
        let response = ConnectResponse::from_bytes(session.receive()?).map_err(io::Error::other)?;
        assert_ne!(response.session_id, 0);
        Ok(session)
    }

    fn ask(&mut self, request: &Request) -> Result<Response, ErrorCode> {
        let mut writer = Writer::default();
        RequestHeader { xid: 1, opcode: request.opcode() }.write(&mut writer);
        request.write(&mut writer);
        self.send(&writer.finish()).unwrap();
        let mut answer = self.receive().unwrap();
        let header = ReplyHeader::from_bytes(answer.split_to(16)).unwrap();
        match header.error {
            ErrorCode::OK => Ok(Response::from_bytes(request.opcode(), answer).unwrap()),
            error => Err(error),
        }
    }

    fn send(&mut self, body: &[u8]) -> io::Result<()> {
        let length = u32::try_from(body.len()).unwrap();
        self.stream.write_all(&[&length.to_be_bytes(), body].concat())
    }

    fn receive(&mut self) -> io::Result<Bytes> {
        let mut length = [0; 4];
        self.stream.read_exact(&mut length)?;
        let mut body = vec![0; u32::from_be_bytes(length) as usize];
        self.stream.read_exact(&mut body)?;
        Ok(body.into())
    }
}

fn create(server: &ZooKeeper, path: &str, data: &'static str) {
    let create = Create::new(path, data, CreateFlags::PERSISTENT);
    let created = Session::open(server).ask(&Request::Create(create));
    assert_eq!(created, Ok(Response::Path(path.to_owned())));
}

/// Asserts the data at a path of a server, once the server has caught up with its leader.
#[track_caller]
fn assert_has(server: &ZooKeeper, path: &str, expected: &'static str) {
    let mut session = Session::open(server);
    session.ask(&Request::Sync { path: path.to_owned() }).unwrap();
    match session.ask(&Request::GetData { path: path.to_owned(), watch: false }) {
        Ok(Response::Data { data, .. }) => assert_eq!(data, Some(Bytes::from(expected))),
        other => panic!("{path} at {}: {other:?}", server.address()),
    }
}

fn serves(server: &ZooKeeper) -> bool {
    server.four_letter("srvr").is_ok_and(|answer| answer.contains("Mode: "))
}

/// Returns the followers once there are two. A server that is behind or slow to answer may be missing at first.
fn both_followers(ensemble: &Ensemble) -> Vec<&ZooKeeper> {
    let both = || ensemble.followers().ok().filter(|followers| followers.len() == 2);
    eventually(SERVE_WITHIN, both).expect("two servers follow")
}

#[test]
fn all_servers_have_the_same_data() {
    let ensemble = Ensemble::start().unwrap();
    create(ensemble.server(0), "/written", "once");
    for server in ensemble.servers() {
        assert_has(server, "/written", "once");
    }
    let addresses: Vec<_> = ensemble.servers().iter().map(ZooKeeper::connect_string).collect();
    assert_eq!(ensemble.connect_string(), addresses.join(","));
    let (leader, followers) = (ensemble.leader().unwrap(), both_followers(&ensemble));
    assert!(followers.iter().all(|follower| follower.address() != leader.address()));
}

#[test]
fn options_reach_every_server() {
    let millis = Duration::from_millis;
    let builder = Ensemble::builder().tick_time(millis(500)).min_session_timeout(millis(700));
    let builder = builder.max_session_timeout(millis(9000)).init_limit(7).sync_limit(3);
    let ensemble = builder.system_property("zklock.test", "yes").start().unwrap();
    for server in ensemble.servers() {
        let conf = server.four_letter("conf").unwrap();
        let options = ["tickTime=500", "minSessionTimeout=700", "maxSessionTimeout=9000"];
        for expected in options.iter().chain(&["initLimit=7", "syncLimit=3"]) {
            assert!(conf.lines().any(|line| line == *expected), "{conf}");
        }
        let command = std::fs::read(format!("/proc/{}/cmdline", server.pid().unwrap())).unwrap();
        assert!(String::from_utf8_lossy(&command).contains("-Dzklock.test=yes"));
    }
}

#[test]
fn another_server_leads_when_the_leader_is_killed_and_the_data_stays() {
    let ensemble = Ensemble::start().unwrap();
    let old = ensemble.leader().unwrap();
    create(old, "/before", "the end");
    old.kill().unwrap();
    let new = ensemble.leader().unwrap();
    assert_ne!(new.address(), old.address());
    assert_has(new, "/before", "the end");
    create(new, "/after", "it");
    assert!(matches!(old.pause(), Err(Error::NotRunning { .. })));

    let address = old.address();
    old.restart().unwrap();
    assert_eq!(old.address(), address);
    assert_has(old, "/before", "the end");
    assert_has(old, "/after", "it");
    assert_eq!(ensemble.leader().unwrap().address(), new.address());
}

#[test]
fn a_paused_follower_catches_up_with_what_it_missed() {
    let ensemble = Ensemble::builder().tick_time(Duration::from_millis(500)).sync_limit(10).start().unwrap();
    let (leader, paused) = (ensemble.leader().unwrap(), both_followers(&ensemble)[0]);
    let synced = || leader.four_letter("mntr").unwrap().contains("zk_synced_followers\t2");
    wait_until("both follow", synced);
    paused.pause().unwrap();
    wait_until("the leader gives it up", || !synced());
    create(leader, "/missed", "by one");
    assert!(!serves(paused));
    assert_eq!(ensemble.followers().unwrap().len(), 1);

    paused.resume().unwrap();
    both_followers(&ensemble);
    assert_has(paused, "/missed", "by one");
}

#[test]
fn a_follower_that_is_cut_off_answers_reads_until_it_gives_its_leader_up_and_catches_up_later() {
    let ticks = Ensemble::builder().tick_time(Duration::from_millis(500)).sync_limit(6);
    let ensemble = ticks.separable().start().unwrap();
    let (leader, far) = (ensemble.leader().unwrap(), both_followers(&ensemble)[0]);
    create(leader, "/before", "by all");
    assert_has(far, "/before", "by all");
    let mut session = Session::open(far);
    let mut read = |path: &str| session.ask(&Request::GetData { path: path.to_owned(), watch: false });
    ensemble.separate(far);
    create(leader, "/missed", "by one");
    assert!(matches!(read("/before"), Ok(Response::Data { .. })));
    assert_eq!(read("/missed"), Err(ErrorCode::NO_NODE));
    wait_until("it gives its leader up", || !serves(far));
    assert_eq!(ensemble.leader().unwrap().address(), leader.address());

    ensemble.join(far);
    both_followers(&ensemble);
    assert_has(far, "/missed", "by one");
}

#[test]
fn a_follower_that_is_delayed_answers_reads_from_a_state_that_the_leader_has_left_behind() {
    let ensemble = Ensemble::builder().separable().start().unwrap();
    let (leader, far) = (ensemble.leader().unwrap(), both_followers(&ensemble)[0]);
    let mut session = Session::open(far);
    let mut read = |path: &str| session.ask(&Request::GetData { path: path.to_owned(), watch: false });
    let delay = Duration::from_millis(400);
    ensemble.delay(far, delay);
    let (mut late, mut begin) = ("/late".to_owned(), Instant::now());
    // On a busy machine, the read itself may come late.
    wait_until("a read comes before the node", || {
        late.push('+');
        begin = Instant::now();
        create(leader, &late, "by one");
        read(&late) == Err(ErrorCode::NO_NODE)
    });
    wait_until("it has the node", || read(&late).is_ok());
    assert!(begin.elapsed() >= delay, "{:?}", begin.elapsed());
    assert_eq!(both_followers(&ensemble).len(), 2);

    ensemble.join(far);
    create(leader, "/after", "by all");
    assert_has(far, "/after", "by all");
}

#[test]
fn another_server_leads_when_the_leader_is_paused() {
    let ensemble = Ensemble::builder().tick_time(Duration::from_millis(500)).sync_limit(10).start().unwrap();
    let old = ensemble.leader().unwrap();
    old.pause().unwrap();
    let new = ensemble.leader().unwrap();
    assert_ne!(new.address(), old.address());
    old.resume().unwrap();
    assert_eq!(ensemble.leader().unwrap().address(), new.address());
    assert!(both_followers(&ensemble).iter().any(|follower| follower.address() == old.address()));
}

#[test]
fn nobody_serves_without_a_majority_until_it_is_back() {
    let ensemble = Ensemble::start().unwrap();
    let (leader, followers) = (ensemble.leader().unwrap(), both_followers(&ensemble));
    create(leader, "/kept", "by one");
    followers.iter().for_each(|follower| follower.kill().unwrap());
    wait_until("the last one stops serving", || !serves(leader));
    assert!(Session::try_open(leader).is_err());

    followers[0].restart().unwrap();
    let quorum = [leader, followers[0]];
    quorum.iter().for_each(|server| assert_has(server, "/kept", "by one"));

    quorum.iter().for_each(|server| server.kill().unwrap());
    ensemble.restart().unwrap();
    ensemble.servers().iter().for_each(|server| assert_has(server, "/kept", "by one"));
}

#[test]
fn two_ensembles_share_nothing() {
    let ensembles = [Ensemble::start().unwrap(), Ensemble::start().unwrap()];
    create(ensembles[0].server(0), "/mine", "alone");
    let found = Session::open(ensembles[1].server(0))
        .ask(&Request::Exists { path: "/mine".to_owned(), watch: false });
    assert_eq!(found, Err(ErrorCode::NO_NODE));
    let [one, other] = ensembles;
    one.stop().unwrap();
    assert!(other.servers().iter().all(serves));
}

#[test]
fn a_dropped_ensemble_leaves_nothing() {
    let ensemble = Ensemble::start().unwrap();
    let server = |server: &ZooKeeper| (server.pid().unwrap(), server.directory().to_owned());
    let left: Vec<_> = ensemble.servers().iter().map(server).collect();
    ensemble.server(0).pause().unwrap();
    drop(ensemble);
    for (pid, directory) in left {
        assert_eq!(process_state(pid), None);
        assert!(!directory.exists());
    }
}

#[test]
fn an_ensemble_ends_with_its_killed_owner() {
    if owner_orders().is_some() {
        return own_an_ensemble();
    }
    Owner::spawn("ensemble::an_ensemble_ends_with_its_killed_owner", "serve")
        .check_that_nothing_outlives_it(3);
}

/// Owns servers until this process is killed.
fn own_an_ensemble() {
    let ensemble = Ensemble::start().unwrap();
    tell_of(ensemble.servers());
    ensemble.server(0).pause().unwrap();
    ensemble.server(1).kill().unwrap();
    wait_to_be_killed();
}

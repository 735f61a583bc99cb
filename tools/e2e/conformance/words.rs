//! Four-letter words, as far as clients rely on them.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use zklock_testkit::wire::CreateFlags;

use crate::case::cases;
use crate::server::{Options, Server};

cases! {
    ruok_is_answered,
    srvr_tells_the_mode,
    mntr_tells_numbers,
    numbers_are_those_of_the_server,
    cons_tells_the_sessions,
    dump_tells_sessions_and_their_nodes,
    wchs_counts_watches,
    conf_tells_the_limits,
    isro_tells_that_writes_are_taken,
    words_are_told_by_their_first_letters,
    envi_tells_the_version,
    dirs_tells_sizes,
    srst_sets_the_numbers_of_the_server_back,
    crst_sets_the_numbers_of_the_connections_back,
    wchp_and_wchc_tell_watches_by_path_and_by_session,
}

const SOON: Duration = Duration::from_secs(20);

async fn ask(server: std::net::SocketAddr, word: &str) -> String {
    let mut stream = TcpStream::connect(server).await.unwrap();
    stream.write_all(word.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

/// Returns the lines of an answer by the text before the separator.
async fn table(server: std::net::SocketAddr, word: &str, separator: char) -> BTreeMap<String, String> {
    let answer = ask(server, word).await;
    let lines = answer.lines().filter_map(|line| line.split_once(separator));
    lines.map(|(key, value)| (key.to_owned(), value.trim().to_owned())).collect()
}

async fn ruok_is_answered(server: &Server) {
    assert_eq!(ask(server.address(), "ruok").await, "imok");
}

async fn srvr_tells_the_mode(server: &Server) {
    let zxid = server.client().await.zxid().await;
    let told = table(server.address(), "srvr", ':').await;
    assert!(told.contains_key("Zookeeper version"));
    assert_eq!(told["Mode"], "standalone");
    let told_zxid = i64::from_str_radix(told["Zxid"].strip_prefix("0x").unwrap(), 16).unwrap();
    assert!(told_zxid >= zxid);
    for number in ["Received", "Sent", "Connections", "Outstanding", "Node count"] {
        assert!(told[number].parse::<i64>().is_ok(), "{number}: {}", told[number]);
    }
    assert_eq!(told["Latency min/avg/max"].split('/').count(), 3);
}

async fn mntr_tells_numbers(server: &Server) {
    let told = table(server.address(), "mntr", '\t').await;
    assert_eq!(told["zk_server_state"], "standalone");
    assert!(told.contains_key("zk_version"));
    for number in [
        "zk_approximate_data_size",
        "zk_avg_latency",
        "zk_ephemerals_count",
        "zk_max_latency",
        "zk_min_latency",
        "zk_num_alive_connections",
        "zk_outstanding_requests",
        "zk_packets_received",
        "zk_packets_sent",
        "zk_watch_count",
        "zk_znode_count",
    ] {
        assert!(told[number].parse::<f64>().is_ok(), "{number}: {}", told[number]);
    }
}

async fn numbers_are_those_of_the_server(server: &Server) {
    let own = server.own(&Options::default());
    let before = table(own.address(), "mntr", '\t').await;
    assert_eq!(before["zk_znode_count"], "5", "the root under two names, and the server's own nodes");
    assert_eq!((before["zk_ephemerals_count"].as_str(), before["zk_watch_count"].as_str()), ("0", "0"));
    let (mut one, mut other) = (own.client().await, own.client().await);
    one.make("/a").await;
    one.make_as("/b", CreateFlags::EPHEMERAL).await;
    one.watch_data("/a").await;
    other.watch_data("/a").await;
    other.watch_children("/").await;
    one.watch_data("/a").await;
    let after = table(own.address(), "mntr", '\t').await;
    assert_eq!(after["zk_znode_count"], "7");
    assert_eq!((after["zk_ephemerals_count"].as_str(), after["zk_watch_count"].as_str()), ("1", "3"));
    // The connections of earlier questions may still be open.
    assert!(after["zk_num_alive_connections"].parse::<u32>().unwrap() >= 3);
    assert_eq!(table(own.address(), "srvr", ':').await["Node count"], "7");
    let number = zklock_testkit::wire::Request::GetAllChildrenNumber { path: "/".into() };
    assert_eq!(one.ask(number).await, Ok(zklock_testkit::wire::Response::Count(5)));
    one.close().await;
    let after = table(own.address(), "mntr", '\t').await;
    assert_eq!((after["zk_znode_count"].as_str(), after["zk_ephemerals_count"].as_str()), ("6", "0"));
    packets_of_requests_are_counted(own.address(), other).await;
}

/// The question itself is a packet, too.
async fn packets_of_requests_are_counted(server: std::net::SocketAddr, mut client: crate::client::Client) {
    let received =
        async || -> u64 { table(server, "mntr", '\t').await["zk_packets_received"].parse().unwrap() };
    let before = received().await;
    for _ in 0..10 {
        client.stat("/").await.unwrap();
    }
    assert_eq!(received().await, before + 11);
}

async fn cons_tells_the_sessions(server: &Server) {
    let client = server.client().await;
    let told = ask(server.address(), "cons").await;
    let session = format!("sid=0x{:x},", client.session_id());
    let line = told.lines().find(|line| line.contains(&session)).unwrap();
    assert!(line.starts_with(" /127.0.0.1:") && line.contains("to=30000"), "{line}");
}

async fn dump_tells_sessions_and_their_nodes(server: &Server) {
    let mut client = server.client().await;
    client.make_as(&server.path("/a"), CreateFlags::EPHEMERAL).await;
    let told = ask(server.address(), "dump").await;
    let (sessions, nodes) = told.split_once("Sessions with Ephemerals").unwrap();
    assert!(sessions.starts_with("SessionTracker dump:"), "{sessions}");
    assert!(sessions.contains(&format!("\t0x{:x}\n", client.session_id())), "{sessions}");
    let node = format!("0x{:x}:\n\t{}\n", client.session_id(), server.path("/a"));
    assert!(nodes.contains(&node), "{nodes}");
}

async fn wchs_counts_watches(server: &Server) {
    let mut client = server.client().await;
    client.watch_data(&server.path("")).await;
    let told = ask(server.address(), "wchs").await;
    let (first, second) = told.trim_end().split_once('\n').unwrap();
    let words: Vec<&str> = first.split(' ').collect();
    assert_eq!((words[1], words[2], words[4]), ("connections", "watching", "paths"), "{first}");
    let total: u64 = second.strip_prefix("Total watches:").unwrap().parse().unwrap();
    assert!(total >= 1 && words[0].parse::<u64>().unwrap() >= 1);
}

async fn conf_tells_the_limits(server: &Server) {
    let told = table(server.address(), "conf", '=').await;
    assert_eq!(told["clientPort"], server.address().port().to_string());
    assert_eq!(told["tickTime"], "200");
    assert_eq!((told["minSessionTimeout"].as_str(), told["maxSessionTimeout"].as_str()), ("400", "60000"));
}

async fn isro_tells_that_writes_are_taken(server: &Server) {
    assert_eq!(ask(server.address(), "isro").await, "rw");
}

async fn words_are_told_by_their_first_letters(server: &Server) {
    assert_eq!(ask(server.address(), "ruok\n").await, "imok");
    assert!(ask(server.address(), "mntr\r\n").await.starts_with("zk_version\t"));
}

/// kazoo reads the version that it adapts to from this answer.
async fn envi_tells_the_version(server: &Server) {
    let answer = ask(server.address(), "envi").await;
    assert!(answer.starts_with("Environment:\nzookeeper.version="), "{answer}");
    let told = table(server.address(), "envi", '=').await;
    let (version, _) = told["zookeeper.version"].split_once('-').unwrap();
    let numbers: Vec<u32> = version.split('.').map(|number| number.parse().unwrap()).collect();
    assert!(numbers.len() == 3 && numbers[0] == 3, "{version}");
    let of_mntr = table(server.address(), "mntr", '\t').await;
    assert!(of_mntr["zk_version"].starts_with(&told["zookeeper.version"]));
    for name in ["host.name", "os.name", "os.arch", "os.version", "user.name", "user.home", "user.dir"] {
        assert!(told.contains_key(name), "{name}: {told:?}");
    }
}

async fn dirs_tells_sizes(server: &Server) {
    let answer = ask(server.address(), "dirs").await;
    let lines: Vec<&str> = answer.lines().collect();
    assert_eq!(lines.len(), 2, "{answer}");
    for (line, name) in lines.iter().zip(["datadir_size: ", "logdir_size: "]) {
        assert!(line.strip_prefix(name).unwrap().parse::<u64>().is_ok(), "{line}");
    }
}

async fn srst_sets_the_numbers_of_the_server_back(server: &Server) {
    let own = server.own(&Options::default());
    let mut client = own.client().await;
    for _ in 0..20 {
        client.stat("/").await.unwrap();
    }
    let received =
        async || -> u64 { table(own.address(), "mntr", '\t').await["zk_packets_received"].parse().unwrap() };
    assert!(received().await > 20);
    assert_eq!(ask(own.address(), "srst").await, "Server stats reset.\n");
    assert_eq!(received().await, 1, "only the question itself");
    assert_eq!(table(own.address(), "mntr", '\t').await["zk_znode_count"], "5");
}

async fn crst_sets_the_numbers_of_the_connections_back(server: &Server) {
    let own = server.own(&Options::default());
    let mut client = own.client().await;
    for _ in 0..20 {
        client.stat("/").await.unwrap();
    }
    let session = format!("sid=0x{:x},", client.session_id());
    let numbers = async || {
        let told = ask(own.address(), "cons").await;
        let line = told.lines().find(|line| line.contains(&session)).unwrap().to_owned();
        let number = |name: &str| -> u64 {
            let (_, rest) = line.split_once(name).unwrap();
            rest.split(',').next().unwrap().parse().unwrap()
        };
        (number("recved="), number("sent="))
    };
    // A real server counts an answer after it has sent it.
    let until = async |expected| {
        let equal = async { while numbers().await != expected {} };
        tokio::time::timeout(SOON, equal).await.unwrap_or_else(|_| panic!("never {expected:?}"));
    };
    until((21, 21)).await;
    assert_eq!(ask(own.address(), "crst").await, "Connection stats reset.\n");
    assert_eq!(numbers().await, (0, 0));
    client.stat("/").await.unwrap();
    until((1, 1)).await;
}

async fn wchp_and_wchc_tell_watches_by_path_and_by_session(server: &Server) {
    let own = server.own(&Options::default());
    assert_eq!(
        (ask(own.address(), "wchp").await, ask(own.address(), "wchc").await),
        ("\n".into(), "\n".into())
    );
    let mut client = own.client().await;
    client.make("/a").await;
    client.watch_data("/a").await;
    client.watch_exists("/a/b").await.unwrap_err();
    client.watch_children("/").await;
    let session = format!("0x{:x}", client.session_id());
    let by_session = ask(own.address(), "wchc").await;
    let mut lines: Vec<&str> = by_session.lines().collect();
    assert_eq!(lines.remove(0), session);
    lines.sort_unstable();
    assert_eq!(lines, ["", "\t/a", "\t/a/b"], "{by_session}");
    let by_path = ask(own.address(), "wchp").await;
    for path in ["/a", "/a/b"] {
        assert!(by_path.contains(&format!("{path}\n\t{session}\n")), "{by_path}");
    }
    assert_eq!(by_path.lines().count(), 5, "{by_path}");
}

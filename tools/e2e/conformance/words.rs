//! Four-letter words, as far as clients rely on them.

use std::collections::BTreeMap;
use std::time::Duration;

use rstest_reuse::apply;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use zklock_testkit::wire::CreateFlags;

use crate::on_both_kinds;
use crate::server::{Kind, Options, Server};

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

#[apply(on_both_kinds)]
async fn words_are_told_by_their_first_letters(server: Server) {
    for (word, answer) in [("ruok", "imok"), ("ruok\n", "imok"), ("isro", "rw")] {
        assert_eq!(ask(server.address(), word).await, answer);
    }
    assert!(ask(server.address(), "mntr\r\n").await.starts_with("zk_version\t"));
}

/// kazoo reads the version that it adapts to from the answer to `envi`.
#[apply(on_both_kinds)]
async fn the_server_tells_its_version_settings_and_sizes(server: Server) {
    let zxid = server.client().await.zxid().await;
    let of_srvr = table(server.address(), "srvr", ':').await;
    assert_eq!(of_srvr["Mode"], "standalone");
    let told_zxid = i64::from_str_radix(of_srvr["Zxid"].strip_prefix("0x").unwrap(), 16).unwrap();
    assert!(told_zxid >= zxid && of_srvr.contains_key("Zookeeper version"));
    assert_eq!(of_srvr["Latency min/avg/max"].split('/').count(), 3);
    let (of_mntr, of_dirs) =
        (table(server.address(), "mntr", '\t').await, table(server.address(), "dirs", ':').await);
    assert_eq!(of_mntr["zk_server_state"], "standalone");
    for (of_word, numbers) in [
        (&of_srvr, "Received,Sent,Connections,Outstanding,Node count"),
        (&of_mntr, "zk_approximate_data_size,zk_avg_latency,zk_max_latency,zk_min_latency"),
        (&of_mntr, "zk_num_alive_connections,zk_outstanding_requests,zk_packets_sent"),
        (&of_dirs, "datadir_size,logdir_size"),
    ] {
        for number in numbers.split(',') {
            assert!(of_word[number].parse::<f64>().is_ok(), "{number}: {}", of_word[number]);
        }
    }
    let of_envi = table(server.address(), "envi", '=').await;
    let (version, _) = of_envi["zookeeper.version"].split_once('-').unwrap();
    let numbers: Vec<u32> = version.split('.').map(|number| number.parse().unwrap()).collect();
    assert!(numbers.len() == 3 && numbers[0] == 3, "{version}");
    assert!(of_mntr["zk_version"].starts_with(&of_envi["zookeeper.version"]));
    for name in ["host.name", "os.name", "os.arch", "os.version", "user.name", "user.home", "user.dir"] {
        assert!(of_envi.contains_key(name), "{name}: {of_envi:?}");
    }
    let of_conf = table(server.address(), "conf", '=').await;
    assert_eq!(of_conf["clientPort"], server.address().port().to_string());
    let limits = ["tickTime", "minSessionTimeout", "maxSessionTimeout"].map(|name| of_conf[name].as_str());
    assert_eq!(limits, ["200", "400", "60000"]);
}

#[apply(on_both_kinds)]
async fn numbers_are_those_of_the_server(server: Server) {
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

#[apply(on_both_kinds)]
async fn sessions_are_told_with_their_nodes_and_watches(server: Server) {
    let own = server.own(&Options::default());
    for word in ["wchp", "wchc"] {
        assert_eq!(ask(own.address(), word).await, "\n");
    }
    let mut client = own.client().await;
    client.make("/a").await;
    client.make_as("/e", CreateFlags::EPHEMERAL).await;
    client.watch_data("/a").await;
    client.watch_exists("/a/b").await.unwrap_err();
    client.watch_children("/").await;
    let session = format!("0x{:x}", client.session_id());
    let of_cons = ask(own.address(), "cons").await;
    let line = of_cons.lines().find(|line| line.contains(&format!("sid={session},"))).unwrap();
    assert!(line.starts_with(" /127.0.0.1:") && line.contains("to=30000"), "{line}");
    let of_dump = ask(own.address(), "dump").await;
    let (sessions, nodes) = of_dump.split_once("Sessions with Ephemerals").unwrap();
    assert!(sessions.starts_with("SessionTracker dump:"), "{sessions}");
    assert!(sessions.contains(&format!("\t{session}\n")), "{sessions}");
    assert!(nodes.contains(&format!("{session}:\n\t/e\n")), "{nodes}");
    let of_wchs = ask(own.address(), "wchs").await;
    assert_eq!(of_wchs.trim_end(), "1 connections watching 2 paths\nTotal watches:2");
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

#[apply(on_both_kinds)]
async fn numbers_are_set_back(server: Server) {
    let own = server.own(&Options::default());
    let mut client = own.client().await;
    for _ in 0..20 {
        client.stat("/").await.unwrap();
    }
    let session = format!("sid=0x{:x},", client.session_id());
    let of_connection = async || {
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
        let equal = async { while of_connection().await != expected {} };
        tokio::time::timeout(SOON, equal).await.unwrap_or_else(|_| panic!("never {expected:?}"));
    };
    until((21, 21)).await;
    assert_eq!(ask(own.address(), "crst").await, "Connection stats reset.\n");
    assert_eq!(of_connection().await, (0, 0));
    client.stat("/").await.unwrap();
    until((1, 1)).await;
    let of_server =
        async || -> u64 { table(own.address(), "mntr", '\t').await["zk_packets_received"].parse().unwrap() };
    assert!(of_server().await > 20);
    assert_eq!(ask(own.address(), "srst").await, "Server stats reset.\n");
    assert_eq!(of_server().await, 1, "only the question itself");
    assert_eq!(table(own.address(), "mntr", '\t').await["zk_znode_count"], "5");
}

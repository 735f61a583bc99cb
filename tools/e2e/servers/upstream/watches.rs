//! The watches of the library, on a reconnect and after the end of its runtime.

use std::sync::{Arc, Mutex};

use futures_util::FutureExt;
use futures_util::future::join_all;
use tokio::runtime::Builder;
use tokio::time::timeout;
use zklock_testkit::wire::{Opcode, Reader, Record, Request, RequestHeader, SetWatches};
use zklock_testkit::{How, Proxy};
use zookeeper_client as zk;

use super::{PACKETS, PERSISTENT, RUNTIME, proxied};
use crate::support::{SOON, Space, server, soon, until};

/// Keeps the requests that set watches again.
fn record_watches(proxy: &Proxy) -> Arc<Mutex<Vec<SetWatches>>> {
    let recorded = Arc::<Mutex<Vec<SetWatches>>>::default();
    let keep = Arc::clone(&recorded);
    proxy.on_request(Opcode::SET_WATCHES).always().rewrite(move |frame| {
        let mut reader = Reader::new(frame.to_vec().into());
        let header = RequestHeader::read(&mut reader).unwrap();
        let Ok(Request::SetWatches(watches)) = Request::read(header.opcode, &mut reader) else {
            panic!("the frame sets watches");
        };
        keep.lock().unwrap().push(watches);
        frame.to_vec()
    });
    recorded
}

#[tokio::test]
async fn a_persistent_watch_is_not_set_again_on_a_reconnect() {
    let space = Space::new();
    let ((proxy, client), outsider) = (proxied(&space).await, space.outsider().await);
    let paths = ["persistent", "recursive", "once"].map(|name| format!("{}-{name}", space.namespace));
    for path in &paths {
        let ephemeral = zk::CreateMode::Ephemeral.with_acls(zk::Acls::anyone_all());
        outsider.create(path, b"", &ephemeral).await.unwrap();
    }
    let mut lasting = [
        client.watch(&paths[0], zk::AddWatchMode::Persistent).await.unwrap(),
        client.watch(&paths[1], zk::AddWatchMode::PersistentRecursive).await.unwrap(),
    ];
    let (_, _, once) = client.get_and_watch_data(&paths[2]).await.unwrap();
    for (path, watcher) in paths.iter().zip(&mut lasting) {
        outsider.set_data(path, b"before", None).await.unwrap();
        assert_eq!(soon(watcher.changed()).await.event_type, zk::EventType::NodeDataChanged);
    }

    let recorded = record_watches(&proxy);
    proxy.cut(How::Rst);
    until(async || client.check_stat("/").await.is_ok(), "the client is connected again").await;
    for path in &paths {
        outsider.set_data(path, b"after", None).await.unwrap();
    }
    // A connection's events come in the order of the changes, so those of the other nodes would be there.
    assert_eq!(soon(once.changed()).await.event_type, zk::EventType::NodeDataChanged);
    for watcher in &mut lasting {
        while let Some(event) = watcher.changed().now_or_never() {
            assert_eq!(event.event_type, zk::EventType::Session, "{PERSISTENT}");
        }
    }
    assert_eq!(proxy.requests(Opcode::SET_WATCHES2), 0, "{PERSISTENT}");
    let recorded = recorded.lock().unwrap();
    let [again] = &recorded[..] else { panic!("{PERSISTENT}: {recorded:?}") };
    assert_eq!((&again.data[..], &again.child[..], &again.exist[..]), (&paths[2..], &[][..], &[][..]));
}

/// The number of watches whose paths do not fit into one packet, and are few more than those that do.
const MANY: usize = 140;

#[tokio::test]
async fn watches_beyond_one_packet_are_sent_twice_and_break_the_connection() {
    let space = Space::new();
    let (proxy, client) = proxied(&space).await;
    let paths: Vec<_> = (0..MANY).map(|n| format!("{}-{n:01000}", space.namespace)).collect();
    let _watchers: Vec<_> = join_all(paths.iter().map(|path| client.check_and_watch_stat(path))).await;

    let (recorded, answers) = (record_watches(&proxy), proxy.on_reply(Opcode::SET_WATCHES).hold());
    proxy.cut(How::Rst);
    until(async || recorded.lock().unwrap().len() >= 2, "there are two packets").await;
    {
        let recorded = recorded.lock().unwrap();
        let counts: Vec<_> = recorded.iter().map(|watches| watches.exist.len()).collect();
        assert!(counts[0] < MANY, "the first packet has a part: {counts:?}");
        assert_eq!(counts[1], MANY, "{PACKETS}: {counts:?}");
        assert!(recorded[0].exist.iter().all(|path| recorded[1].exist.contains(path)), "{PACKETS}");
    }
    // Both packets are written before the first is answered.
    let attempt = proxy.on_request(Opcode::CREATE_SESSION).hold();
    answers.release();
    tokio::select! {
        biased;
        () = soon(attempt.struck()) => {}
        answer = client.check_stat("/") => panic!("{PACKETS}: {answer:?}"),
    }
    assert_eq!(proxy.replies(Opcode::SET_WATCHES), 2, "both packets were answered");
}

#[test]
fn a_watcher_panics_and_the_state_stays_when_the_runtime_of_the_session_is_gone() {
    let runtime = || Builder::new_current_thread().enable_all().build().unwrap();
    let of_session = runtime();
    let (client, watcher) = of_session.block_on(async {
        let client = zk::Client::connect(server().connect_string()).await.unwrap();
        let (_, _, watcher) = client.get_and_watch_data("/").await.unwrap();
        (client, watcher)
    });
    drop(of_session);
    let waiting = async { timeout(SOON, tokio::spawn(watcher.changed())).await };
    assert!(matches!(runtime().block_on(waiting), Ok(Err(end)) if end.is_panic()), "{RUNTIME}");
    assert_eq!(client.state(), zk::SessionState::SyncConnected, "{RUNTIME}");
}

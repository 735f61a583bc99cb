//! Data and ACLs are replaced.

use zklock_testkit::wire::{Request, SetData};

use crate::case::cases;
use crate::client::stat_of;
use crate::server::Server;

cases! {
    data_becomes_null,
    the_root_has_data_too,
}

async fn data_becomes_null(server: &Server) {
    let mut client = server.client().await;
    let path = server.path("/a");
    client.make(&path).await;
    client.set(&path, "x").await.unwrap();
    let set = SetData { path: path.clone(), data: None, version: -1 };
    let stat = client.ask(Request::SetData(set)).await.map(stat_of).unwrap();
    assert_eq!((stat.data_length, stat.version), (0, 2));
    assert_eq!(client.data(&path).await, Ok((None, stat)));
}

async fn the_root_has_data_too(server: &Server) {
    let mut client = server.client().await;
    let before = client.data("/").await.unwrap();
    let stat = client.set("/", "").await.unwrap();
    assert_eq!(stat.version, before.1.version + 1);
    assert_eq!((before.1.czxid, before.1.ctime), (0, 0));
}

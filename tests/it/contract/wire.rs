//! The nodes of contenders are those of Curator's recipes.

use std::collections::BTreeSet;
use std::iter;

use rstest_reuse::apply;

use super::PATH;
use super::face::Face;
use super::templates::every_lock_and_readers;
use crate::support::{Space, soon};

/// Returns the ends of the names below each parent, in front of their numbers.
fn bases(face: Face) -> [&'static str; 2] {
    match face {
        Face::Mutex | Face::Multi => ["-lock-"; 2],
        Face::Reader => ["-__READ__"; 2],
        Face::Writer => ["-__WRIT__"; 2],
        Face::Leader => ["-latch-"; 2],
        Face::Exclusive | Face::Semaphore | Face::Permits => ["-lease-", "-lock-"],
    }
}

/// Checks a name such as `_c_6ba7b810-9dad-41d1-80b4-00c04fd430c8-lease-0000000003`, and returns its UUID.
#[track_caller]
fn checked(name: &str, base: &str) -> String {
    let (uuid, rest) = name.strip_prefix("_c_").expect(name).split_at(36);
    let groups: Vec<_> = uuid.split('-').map(str::len).collect();
    assert_eq!((groups, &uuid[14..15]), (vec![8, 4, 4, 4, 12], "4"), "{name}");
    assert!(uuid.chars().all(|c| matches!(c, '0'..='9' | 'a'..='f' | '-')), "{name}");
    let sequence = rest.strip_prefix(base).expect(name);
    assert!(sequence.len() == 10 && sequence.chars().all(|c| c.is_ascii_digit()), "{name}");
    uuid.to_owned()
}

#[apply(every_lock_and_readers)]
#[tokio::test]
async fn names_owners_and_data_of_contenders_are_those_of_curator(face: Face) {
    let space = Space::new();
    let connect = || space.config().identity("10.0.0.7").connect();
    let clients = [connect().await.unwrap(), connect().await.unwrap()];
    let guard = face.of(&clients[0], PATH).take().await;
    face.until_contending(&space, PATH, 1).await;
    let next = face.of(&clients[1], PATH).spawn();
    face.until_contending(&space, PATH, 2).await;
    let (outsider, sessions) = (space.outsider().await, clients.each_ref().map(|client| client.session_id()));
    let (mut count, mut uuids) = (0, BTreeSet::new());
    for (parent, base) in iter::zip(face.parents(PATH), bases(face)) {
        for name in space.children(&parent).await {
            count += 1;
            uuids.insert(checked(&name, base));
            let (data, stat) = outsider.get_data(&space.full(&format!("{parent}/{name}"))).await.unwrap();
            assert_eq!(data, b"10.0.0.7", "{name}");
            assert!(sessions.contains(&Some(stat.ephemeral_owner)), "{name}");
        }
    }
    assert_eq!(uuids.len(), count, "each node has one of its own");
    assert!(count >= 2, "{uuids:?}");
    let children = space.children(PATH).await;
    let ends: BTreeSet<_> = children.iter().map(|name| &name[name.len().saturating_sub(10)..]).collect();
    let has_queues = face.parent_of_nodes(PATH) != PATH;
    let expected = if has_queues { ["leases", "locks"] } else { ["0000000000", "0000000001"] };
    assert_eq!(ends, BTreeSet::from(expected));
    guard.release().await.unwrap();
    soon(next).await.unwrap().unwrap().release().await.unwrap();
}

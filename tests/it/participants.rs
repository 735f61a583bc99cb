//! The holder of a lock and its waiters, as other clients see them.

use std::time::{Duration, SystemTime};

use zklock::{Client, Mode, Participant, RwLock, Standing};

use crate::support::{Space, ephemeral, persistent, soon};

const PATH: &str = "/shelves";

fn rwlock(client: &Client) -> RwLock {
    client.rwlock(PATH).unwrap()
}

async fn participants(client: &Client) -> Vec<Participant> {
    rwlock(client).participants().await.unwrap()
}

#[tokio::test]
async fn a_participant_is_described_as_the_server_knows_it() {
    let (space, [writing, reading]) = Space::with_clients().await;
    let before = SystemTime::now();
    let writer = rwlock(&writing).write().await.unwrap();
    let lock = rwlock(&reading);
    let waiting = tokio::spawn(async move { lock.read_timeout(Duration::MAX).await });
    space.until_queued(PATH, 2).await;
    let after = SystemTime::now();
    let listed = participants(&reading).await;
    assert_eq!(listed.len(), 2);
    let outsider = space.outsider().await;
    for one in &listed {
        assert_eq!(one.path, PATH);
        let node = space.full(&format!("{PATH}/{}", one.node));
        let stat = outsider.check_stat(&node).await.unwrap().expect("the node is there");
        let created = SystemTime::UNIX_EPOCH + Duration::from_millis(stat.ctime.cast_unsigned());
        assert_eq!(one.entered, created);
        // The test servers use the clock of this machine, and report it in milliseconds.
        let slack = Duration::from_millis(1);
        assert!(before - slack <= created && created <= after + slack, "{before:?} {created:?} {after:?}");
    }
    writer.release().await.unwrap();
    let reader = soon(waiting).await.unwrap().unwrap();
    assert_eq!(reader.fencing_token(), listed[1].fencing_token, "it holds with the token it was listed with");
}

#[tokio::test]
async fn others_data_is_shown_as_far_as_it_can_be_and_strangers_are_left_out() {
    let (space, client) = Space::with_client().await;
    let guard = rwlock(&client).read().await.unwrap();
    let outsider = space.outsider().await;
    let contenders = [("a-__READ__0000000005", &b"10.0.0.1"[..]), ("b-__WRIT__0000000006", b"\xff\0")];
    for (name, data) in contenders {
        outsider.create(&space.full(&format!("{PATH}/{name}")), data, &ephemeral()).await.unwrap();
    }
    let stranger = space.full(&format!("{PATH}/stranger"));
    outsider.create(&stranger, b"", &persistent()).await.unwrap();
    let listed = participants(&client).await;
    let seen: Vec<_> = listed.iter().skip(1).map(|one| (&*one.identity, one.mode, one.standing)).collect();
    let expected = [("10.0.0.1", Mode::Read, Standing::Holds), ("\u{fffd}\0", Mode::Write, Standing::Waits)];
    assert_eq!(seen, expected);
    assert_eq!((listed[1].node.as_str(), listed[2].node.as_str()), (contenders[0].0, contenders[1].0));
    guard.release().await.unwrap();
    outsider.delete(&stranger, None).await.unwrap();
}

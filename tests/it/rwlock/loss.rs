//! Losses of one of several readers, and of writers that are readers as well.

use std::time::Duration;

use zklock::{LeaseState, LockError, LossReason};

use super::{PATH, queue, rwlock, spawn_read, write};
use crate::support::{Server, Space, failed, soon};

#[tokio::test]
async fn reader_that_was_a_writer_is_told_of_its_loss() {
    let (space, client) = Space::with_client().await;
    for cause in [LossReason::NodeDeleted, LossReason::SessionEnded] {
        let reader = write(&client).await.downgrade().await.unwrap();
        match cause {
            LossReason::SessionEnded => space.end_session_of(&client),
            _ => space.delete_children(PATH).await,
        }
        let reason = soon(reader.lost()).await;
        assert!(reason == cause || reason == LossReason::NodeDeleted, "{reason}");
        assert_eq!(reader.state(), LeaseState::Lost(reason));
        assert!(failed(reader.verify().await).is_lost());
        assert!(failed(reader.set_data(PATH, "late").await).is_lost());
        assert!(failed(reader.release().await).is_lost());
    }
}

#[tokio::test]
async fn writer_and_reader_inside_of_a_lost_write_are_told() {
    let (space, client) = Space::with_client().await;
    let writer = write(&client).await;
    let reader = writer.scope(rwlock(&client).read()).await.unwrap();
    space.delete_children(PATH).await;
    assert_eq!(soon(reader.lost()).await, LossReason::NodeDeleted);
    assert!(failed(writer.scope(rwlock(&client).read()).await).is_lost(), "it is not entered again");
    assert!(failed(writer.release().await).is_lost());
    assert!(failed(reader.release().await).is_lost());
    let _next = soon(spawn_read(&client)).await.unwrap();
    assert_eq!(queue(&space).await.len(), 1);
}

#[tokio::test]
async fn a_downgrade_that_no_server_answers_ends_with_the_lease() {
    let server = Server::start();
    let client = server.client(Duration::from_secs(4)).await;
    let writer = write(&client).await;
    let session = client.session_id();
    server.pause().unwrap();
    let error = failed(soon(writer.downgrade()).await);
    assert!(matches!(error, LockError::Lost { reason: LossReason::LeaseExpired, .. }), "{error}");
    assert_eq!(client.session_id(), session, "the caller is told before the session is given up");
    server.resume().unwrap();
}

//! The readiness of a client, as health endpoints see it.

use zklock::{Client, Readiness};

use crate::support::{Server, until};

async fn until_it_is(readiness: Readiness, client: &Client) {
    until(|| async { client.readiness() == readiness }, &readiness.to_string()).await;
}

#[tokio::test]
async fn a_client_is_suspended_then_disconnected_and_ready_again_with_its_server() {
    let server = Server::start_quick();
    let client = server.quick_config().connect().await.unwrap();
    assert_eq!(client.readiness(), Readiness::Ready);
    server.kill().unwrap();
    until_it_is(Readiness::Suspended, &client).await;
    let is_disconnected = || matches!(client.readiness(), Readiness::Disconnected { .. });
    until(async || is_disconnected(), "the client is disconnected").await;
    until(async || client.readiness().to_string().contains("refuses connections"), "the reason is told")
        .await;
    server.restart().unwrap();
    until_it_is(Readiness::Ready, &client).await;
}

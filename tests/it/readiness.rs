//! The readiness of a client, as health endpoints see it.

use zklock::{Client, Readiness};

use crate::support::{SOON, Server, Space, soon, until};

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

#[tokio::test]
async fn a_client_that_is_shut_down_is_closing_while_a_body_goes_on_and_ever_after() {
    let client = Space::new().client().await;
    let guard = client.mutex("/body").unwrap().lock().await.unwrap();
    let closing = client.clone();
    let shutdown = tokio::spawn(async move { closing.shutdown(SOON).await });
    until_it_is(Readiness::Closing, &client).await;
    assert!(guard.is_held() && !shutdown.is_finished());
    guard.release().await.unwrap();
    soon(shutdown).await.unwrap();
    assert_eq!(client.readiness(), Readiness::Closing);
}

//! A session of the client library on a thread of its own, for logins that block their thread.

use std::thread;

use tokio::runtime::Builder;
use tokio::sync::oneshot;
use zookeeper_client as zk;

use super::failure::OpenError;

/// Connects on a thread of its own, on which the connections of the session stay until it ends.
///
/// A login by GSSAPI blocks its thread for as long as the Kerberos library waits for the network. On the client's own
/// thread, no lease would expire meanwhile, and no deadline would pass.
pub(super) async fn connect(connector: zk::Connector, servers: String) -> Result<zk::Client, OpenError> {
    let (reply, answer) = oneshot::channel();
    let work = move || match Builder::new_current_thread().enable_time().build() {
        Ok(runtime) => runtime.block_on(serve(connector, &servers, reply)),
        Err(error) => drop(reply.send(Err(unstarted(&error)))),
    };
    let thread = thread::Builder::new().name("zklock-library".into());
    thread.spawn(work).map_err(|error| unstarted(&error))?;
    answer.await.unwrap_or_else(|_| Err(OpenError::Unreachable("the thread of the session ended".to_owned())))
}

async fn serve(
    connector: zk::Connector,
    servers: &str,
    mut reply: oneshot::Sender<Result<zk::Client, OpenError>>,
) {
    let connected = tokio::select! {
        biased;
        () = reply.closed() => return,
        connected = connector.connect(servers) => connected,
    };
    match connected {
        Ok(client) => {
            let mut states = client.state_watcher();
            // A client that nobody waits for closes its session when it is dropped.
            reply.send(Ok(client)).ok();
            while !states.changed().await.is_terminated() {}
        }
        Err(error) => drop(reply.send(Err(failure(error)))),
    }
}

/// The client library does not tell a login that a server does not understand from a connection that it refuses.
fn failure(error: zk::Error) -> OpenError {
    match error {
        zk::Error::NoHosts => {
            OpenError::Unreachable("no server accepted the connection and the login by Kerberos".to_owned())
        }
        other => other.into(),
    }
}

fn unstarted(error: &std::io::Error) -> OpenError {
    OpenError::Unreachable(format!("no thread could be started for the session: {error}"))
}

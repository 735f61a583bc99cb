//! One client for the length of a command.

use std::time::Duration;

use zklock::{Client, Config};

use crate::exit::Failure;
use crate::program::{End, Signals};

/// Connects, runs a command, and leaves nothing behind on the servers, unless a signal cuts that short. The command
/// reacts to signals itself.
pub(crate) async fn during(
    config: Config,
    command: impl AsyncFnOnce(&Client, &mut Signals) -> Result<End, Failure>,
) -> Result<End, Failure> {
    let mut signals = Signals::catch().map_err(Failure::system("catch signals"))?;
    let connected = tokio::select! {
        signal = signals.end() => return Ok(End::Signal(signal)),
        connected = config.connect() => connected,
    };
    let client = connected?;
    let outcome = command(&client, &mut signals).await;
    // Nodes that are left on the servers go with the session.
    signals.last(client.shutdown(CLOSE_WITHIN)).await;
    signals.tell_group();
    outcome
}

/// Runs a command that only asks the servers, until it has a result or a signal ends it.
pub(crate) async fn asking(
    config: Config,
    command: impl AsyncFnOnce(&Client) -> Result<(), Failure>,
) -> Result<End, Failure> {
    let until_asked = async |client: &Client, signals: &mut Signals| {
        tokio::select! {
            signal = signals.end() => Ok(End::Signal(signal)),
            outcome = command(client) => outcome.map(End::from),
        }
    };
    during(config, until_asked).await
}

/// The bound on waiting for the servers at the end.
const CLOSE_WITHIN: Duration = Duration::from_secs(5);

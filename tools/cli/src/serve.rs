//! `zklock serve`: the embedded server, for development.

use serde_json::json;
use zklock_testkit::EmbeddedServer;

use crate::arguments::{Keeps, Serve};
use crate::exit::{Code, Failure};
use crate::output::Output;
use crate::program::{End, Signals};

/// Serves from memory until a signal ends this process.
pub(crate) async fn serve(options: Serve, output: &Output) -> Result<End, Failure> {
    let mut signals = Signals::catch().map_err(Failure::system("catch signals"))?;
    let server = EmbeddedServer::builder().listen(options.listen).tick_time(options.server_tick).start();
    let server = server.map_err(|error| {
        let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}")).unwrap_or_default();
        Failure::new(Code::Failed, format!("{error}{cause}"))
    })?;
    let address = server.address();
    let text = format!(
        "listening on {address}\nThis server is for development. It keeps nothing: all nodes and sessions are in \
         memory, and are gone when it ends.\n"
    );
    let keeps = match options.data {
        Keeps::None => "nothing",
    };
    output
        .result(text, &json!({"event": "listening", "address": address.to_string(), "keeps": keeps}))
        .await?;
    Ok(End::Signal(signals.end().await))
}

//! `zklock doctor`: looks at each server of the list, and says what to change.
//!
//! It speaks to one server at a time, in sessions of its own, and leaves nothing behind on the servers. Each question
//! has a bound.
//!
//! * [`words`]: the four-letter words, which servers may answer or not.
//! * [`session`]: the sessions: timeouts and round trips.
//! * [`namespace`]: the permissions in the namespace, and containers.
//! * [`login`]: the names under which a server knows this client.
//! * [`clock`]: the rate of the servers' clock.
//! * [`question`]: the bound on an answer.
//! * [`report`]: the findings about one server, and the advice, as a pure function of both.
//!
//! Uses the floors below: `program`, `connection`, `output` and `exit`.

mod clock;
mod login;
mod namespace;
mod question;
mod report;
mod session;
mod words;

use std::process::ExitCode;

use crate::connection::Settings;
use crate::exit::{Code, Failure};
use crate::output::Output;
use crate::program::{End, Signals};

use self::report::{Report, Severity};
use self::words::Words;

/// Looks at each server until a signal ends it, and tells the most severe finding by the exit code.
pub(crate) async fn doctor(settings: Settings, output: &Output) -> Result<End, Failure> {
    let mut signals = Signals::catch().map_err(Failure::system("catch signals"))?;
    tokio::select! {
        signal = signals.end() => Ok(End::Signal(signal)),
        outcome = look(&settings, output) => outcome.map(End::from),
    }
}

async fn look(settings: &Settings, output: &Output) -> Result<ExitCode, Failure> {
    let mut worst = Severity::Good;
    for server in &settings.servers {
        // The words are asked for unencrypted.
        let words = match settings.is_encrypted() {
            true => Words::default(),
            false => words::ask(&server.address, settings.connect_timeout).await,
        };
        let session = session::look(server, settings).await;
        let report = Report::new(server, settings, words, session);
        worst = worst.max(report.severity());
        output.result(&report, &report.json()).await?;
    }
    Ok(match worst {
        Severity::Good => ExitCode::SUCCESS,
        Severity::Change => Code::Config.into(),
        Severity::Unreachable => Code::Unavailable.into(),
    })
}

//! `zklock lead`: runs a program while this process leads.

use std::time::Duration;

use serde_json::json;
use tokio::time::sleep;
use zklock::{Client, Config, Held, Leadership, current};

use crate::arguments::Lead;
use crate::exit::Failure;
use crate::output::{CUT_SHORT, Output};
use crate::program::{End, Ended, Signals, Status, reap_between_programs, supervise};
use crate::session::during;

/// Connects, and runs the program in each term, until it ends by itself or a signal ends this process.
pub(crate) async fn run(options: Lead, config: Config, output: &Output) -> Result<End, Failure> {
    during(config, async |client, signals| terms(client, &options, signals, output).await).await
}

async fn terms(
    client: &Client,
    options: &Lead,
    signals: &mut Signals,
    output: &Output,
) -> Result<End, Failure> {
    let latch = client.leader_latch(&options.path)?;
    let status = loop {
        let elected = tokio::select! {
            signal = signals.end() => break Status::from(signal),
            elected = latch.leadership() => elected,
            never = reap_between_programs() => match never {},
        };
        let Some(ended) = term(&elected?, options, signals, output).await? else { continue };
        if ended.lost.is_none() || ended.is_asked {
            break ended.status;
        }
    };
    match signals.last(latch.close()).await {
        Some(Ok(())) => {}
        Some(Err(error)) => output.unreleased(&options.path, "resignation", error),
        None => output.unreleased(&options.path, "resignation", CUT_SHORT),
    }
    Ok(status.into())
}

/// Runs the program in one term. Returns `None` if the term was over before.
async fn term(
    leadership: &Leadership,
    options: &Lead,
    signals: &mut Signals,
    output: &Output,
) -> Result<Option<Ended>, Failure> {
    let (path, token) = (&options.path, leadership.fencing_token().to_text());
    let mut ended = None;
    let body = async {
        let held = current().expect("a call inside of a term holds it");
        output.event(&json!({"event": "elected", "path": path, "token": token}));
        let mut outcome = supervise(&options.running, options.on_lost.into(), &held, signals, output).await;
        if let Ok(ended) = &mut outcome
            && ended.lost.is_some()
            && !ended.is_asked
        {
            // A program that starts before the servers answer would be ended at once.
            tokio::select! {
                signal = signals.end() => {
                    if !ended.has_begun {
                        ended.status = signal.into();
                    }
                    ended.is_asked = true;
                }
                _ = held.lost() => {}
                () = confirmed(&held) => {}
            }
        }
        ended = Some(outcome);
    };
    // The program ends before the term is handed on. Its end is known, even if the term was lost.
    leadership.run_to_end(body).await.ok();
    ended.transpose()
}

/// Waits until the servers confirm a lock once more. Until then, the time that remains gets shorter and shorter.
async fn confirmed(held: &Held) {
    let mut before = held.remaining();
    loop {
        sleep(BETWEEN_LOOKS).await;
        let remaining = held.remaining();
        if remaining > before {
            return;
        }
        before = remaining;
    }
}

const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

//! `zklock exec`: runs a program under a lock.

use std::process::ExitCode;
use std::time::Duration;

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use serde_json::json;
use zklock::{Client, Config, Guard, LockError};

use crate::arguments::{Exec, Side};
use crate::exit::{Code, Failure};
use crate::output::{CUT_SHORT, Output};
use crate::program::{End, Ended, Signals, reap_between_programs, supervise};
use crate::session::during;

/// Connects, takes the lock, runs the program, and leaves nothing behind.
pub(crate) async fn run(options: Exec, config: Config, output: &Output) -> Result<End, Failure> {
    during(config, async |client, signals| under_lock(client, &options, signals, output).await).await
}

async fn under_lock(
    client: &Client,
    options: &Exec,
    signals: &mut Signals,
    output: &Output,
) -> Result<End, Failure> {
    let once = Once::of(options);
    let taken = tokio::select! {
        signal = signals.end() => return Ok(End::Signal(signal)),
        taken = take(client, options, once.as_ref()) => taken?,
        never = reap_between_programs() => match never {},
    };
    let Some(held) = taken else { return Ok(skip(options, output).into()) };
    let may_start = tokio::select! {
        signal = signals.end() => {
            release(held, options, signals, output).await.ok();
            return Ok(End::Signal(signal));
        }
        may_start = may_start(&held, once.as_ref()) => may_start?,
        never = reap_between_programs() => match never {},
    };
    if !may_start {
        let skipped = skip(options, output);
        if let Err(lost) = release(held, options, signals, output).await {
            output.unreleased(&options.path, "release", lost);
        }
        return Ok(skipped.into());
    }
    let current = (*held).clone();
    let token = current.fencing_token().to_text();
    output.event(&json!({"event": "acquired", "path": options.path, "token": token}));
    let ended = supervise(&options.running, options.on_lost, &current, signals, output).await;
    let was_held = !current.remaining().is_zero();
    let released = release(held, options, signals, output).await;
    let Ended { status, lost, .. } = ended?;
    if lost.is_some() {
        return Ok(Code::Lost.into());
    }
    match released {
        // The program ended under its lock, so that its code counts.
        Err(lost) if was_held => output.unreleased(&options.path, "release", lost),
        released => released?,
    }
    Ok(status.into())
}

/// Gives the lock back. Fails if it is lost. If the servers do not answer, it is free when the session has ended.
async fn release(
    held: Guard<()>,
    options: &Exec,
    signals: &mut Signals,
    output: &Output,
) -> Result<(), LockError> {
    match signals.last(held.release()).await {
        Some(Ok(())) => output.event(&json!({"event": "released", "path": options.path})),
        Some(Err(error)) if error.is_lost() => return Err(error),
        Some(Err(error)) => output.unreleased(&options.path, "release", error),
        None => output.unreleased(&options.path, "release", CUT_SHORT),
    }
    Ok(())
}

/// The limit on the starts of a program, and the node that remembers the last one.
struct Once {
    tick: String,
    period: Duration,
}

impl Once {
    fn of(options: &Exec) -> Option<Self> {
        let in_name = || utf8_percent_encode(options.path.trim_start_matches('/'), IN_NAME);
        let tick = options.tick.clone().unwrap_or_else(|| format!("{TICKS}/{}", in_name()));
        options.once_per.map(|period| Self { tick, period })
    }
}

/// Takes the lock that the options describe.
async fn lock(client: &Client, options: &Exec) -> Result<Guard<()>, LockError> {
    let wait = (!options.no_wait).then(|| options.wait.unwrap_or(Duration::MAX));
    let path = &options.path;
    Ok(match (options.mode, options.permits.zip(options.of)) {
        (Some(Side::Read), _) => client.rwlock(path)?.take_read(wait).await?.into_kind(),
        (Some(Side::Write), _) => client.rwlock(path)?.take_write(wait).await?.into_kind(),
        (None, Some((wanted, of))) => client.semaphore(path, of)?.take(wanted, wait).await?.into_kind(),
        (None, None) => client.mutex(path)?.take(wait).await?.into_kind(),
    })
}

/// Takes the lock, unless the period begins first: its holder may run the program for long.
async fn take(client: &Client, options: &Exec, once: Option<&Once>) -> Result<Option<Guard<()>>, Failure> {
    let taking = lock(client, options);
    let taken = match once {
        Some(once) => client.unless_begun((&once.tick, once.period), taking).await,
        None => taking.await.map(Some),
    };
    taken.map_err(|error| match options.no_wait && error.is_contended() {
        true => Failure::new(Code::Contended, format!("lock {} is held by others", options.path)),
        false => error.into(),
    })
}

fn skip(options: &Exec, output: &Output) -> ExitCode {
    let event = json!({"event": "skipped", "path": options.path});
    output.tell("skipped: the program was started within this time", &event);
    ExitCode::SUCCESS
}

async fn may_start(held: &Guard<()>, once: Option<&Once>) -> Result<bool, Failure> {
    let Some(Once { tick, period }) = once else { return Ok(true) };
    held.once_per(tick, *period).await.map_err(|error| match error {
        LockError::Timeout { .. } | LockError::OutcomeUnknown { .. } | LockError::Closed { .. } => {
            Failure::new(Code::Failed, format!("the period may have begun without a run: {error}"))
        }
        error => error.into(),
    })
}

/// The parent of the nodes that remember the last runs.
const TICKS: &str = "/zklock-ticks/exec";
/// The path of a lock is one name, because the nodes have no children.
const IN_NAME: &AsciiSet = &CONTROLS.add(b'/').add(b'%');

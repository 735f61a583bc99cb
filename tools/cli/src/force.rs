//! `zklock revoke`, `zklock break` and `zklock resign`: ask holders to release, or take their locks away.

use std::io::{self, IsTerminal, Write};
use std::thread;

use serde_json::json;
use tokio::sync::oneshot;
use zklock::{Client, Config, LockKind, Participant, Standing};

use crate::arguments::Force;
use crate::exit::{Code, Failure};
use crate::output::Output;
use crate::program::End;
use crate::session::asking;
use crate::survey::{LeftOut, check};
use crate::view::{self, name, shown, time, word};

/// The way in which a holder leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Means {
    /// It is asked to release, and decides.
    Revoke,
    /// Its node is deleted.
    Break,
    /// As `Break`, for the leader of an election.
    Resign,
}

/// Makes the holders of a lock leave, or the participant that the options name.
pub(crate) async fn run(
    config: Config,
    options: &Force,
    means: Means,
    output: &Output,
) -> Result<End, Failure> {
    asking(config, async |client| force(client, options, means, output).await).await
}

async fn force(client: &Client, options: &Force, means: Means, output: &Output) -> Result<(), Failure> {
    let chosen = choose(client, options, means, output).await?;
    if !options.yes {
        confirm(&chosen, means).await?;
    }
    for participant in &chosen {
        let done = match means {
            Means::Revoke => client.revoke(participant).await,
            Means::Break | Means::Resign => client.break_lock(participant).await,
        };
        done?;
        let event = json!({"done": means.word(), "participant": view::participant(participant)});
        output.result(format!("{} {}\n", means.word(), name(participant)), &event).await?;
    }
    Ok(())
}

async fn choose(
    client: &Client,
    options: &Force,
    means: Means,
    output: &Output,
) -> Result<Vec<Participant>, Failure> {
    let surveyed = client.survey(&options.path)?.depth(0).participants(MOST).take().await?;
    check(&surveyed)?;
    LeftOut::of(&surveyed, MOST).tell(output);
    let path = shown(&options.path);
    let kinds = surveyed.locks.iter().map(|lock| lock.kind);
    if means == Means::Resign
        && let Some(other) = kinds.clone().find(|kind| !matches!(kind, LockKind::Election | LockKind::Mutex))
    {
        return Err(Failure::new(Code::Usage, format!("{path} is no election, but a {}", word(other))));
    }
    let participants = surveyed.locks.into_iter().flat_map(|lock| lock.participants);
    let is_chosen = |one: &Participant| match &options.node {
        Some(node) => one.node == *node,
        None => one.standing == Standing::Holds,
    };
    let chosen: Vec<_> = participants.filter(is_chosen).collect();
    if chosen.is_empty() {
        return Err(Failure::new(
            Code::Failed,
            format!("nobody is found who holds {path}, or the node is gone"),
        ));
    }
    Ok(chosen)
}

/// Asks the person at the terminal. Without a terminal, there is nobody to ask.
async fn confirm(chosen: &[Participant], means: Means) -> Result<(), Failure> {
    let refused = |message: &str| Failure::new(Code::Usage, message);
    if !io::stdin().is_terminal() {
        return Err(refused("without a terminal, this needs --yes"));
    }
    let mut error = io::stderr();
    for one in chosen {
        writeln!(error, "{}, at {} since {}", name(one), shown(&one.path), time(one.entered)).ok();
    }
    write!(error, "{} [y/N] ", means.question()).ok();
    let answer = answer().await.map_err(Failure::system("read the answer"))?;
    if answer.trim().eq_ignore_ascii_case("y") { Ok(()) } else { Err(refused("nothing was done")) }
}

/// Reads a line on a thread that may outlive this call, which a signal ends.
async fn answer() -> io::Result<String> {
    let (sender, receiver) = oneshot::channel();
    let read = move || {
        let mut line = String::new();
        sender.send(io::stdin().read_line(&mut line).map(|_| line)).ok();
    };
    thread::Builder::new().spawn(read)?;
    receiver.await.map_err(io::Error::other)?
}

impl Means {
    fn word(self) -> &'static str {
        match self {
            Self::Revoke => "asked",
            Self::Break | Self::Resign => "removed",
        }
    }

    fn question(self) -> &'static str {
        match self {
            Self::Revoke => "Ask to release?",
            Self::Break => "Take the lock away, although the holder may still work?",
            Self::Resign => {
                "Take the leadership away? The candidate enters the election again, as the last one."
            }
        }
    }
}

/// The most participants among which one is chosen.
const MOST: u32 = 10_000;

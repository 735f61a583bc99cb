//! `zklock ls` and `zklock who`: the locks below a path, and the participants of one.

use std::fmt::Display;

use serde_json::json;
use zklock::{Client, Participant, Surveyed, SurveyedLock};

use crate::arguments::{Ls, Who};
use crate::exit::Failure;
use crate::output::{Form, Output};
use crate::survey::{LeftOut, check};
use crate::view::{self, name, shown, table, time, word};

/// Lists the locks at a path and below it.
pub(crate) async fn ls(client: &Client, options: &Ls, output: &Output) -> Result<(), Failure> {
    let survey = client.survey(&options.path)?.nodes(options.bounds.nodes).depth(options.bounds.depth);
    let surveyed = survey.take().await?;
    // Of the participants, the table has the first one and their number.
    LeftOut::of(&surveyed, u32::MAX).tell(output);
    let path = shown(&options.path);
    let nothing = format_args!("no lock is held or waited for at {path} and below it");
    tell_if_nothing(&surveyed, nothing, &options.path, output);
    match output.form() {
        Form::Json => output.lines(surveyed.locks.iter().map(view::lock)).await,
        Form::Text => {
            let rows: Vec<_> = surveyed.locks.iter().map(row).collect();
            output.result(table(["PATH", "KIND", "HELD", "WAITING", "SINCE", "FIRST"], &rows), &()).await
        }
    }
}

/// Lists the holders and the waiters of a lock.
pub(crate) async fn who(client: &Client, options: &Who, output: &Output) -> Result<(), Failure> {
    let survey = client.survey(&options.path)?.depth(0).participants(options.most);
    let surveyed = survey.take().await?;
    check(&surveyed)?;
    LeftOut::of(&surveyed, options.most).tell(output);
    let path = shown(&options.path);
    let nothing =
        format_args!("no lock is held or waited for at {path}; zklock ls {path} lists those below it");
    tell_if_nothing(&surveyed, nothing, &options.path, output);
    let participants = || surveyed.locks.iter().flat_map(|lock| &lock.participants);
    match output.form() {
        Form::Json => output.lines(participants().map(view::participant)).await,
        Form::Text => {
            let rows: Vec<_> = participants().map(participant).collect();
            output.result(table(["STANDING", "MODE", "SINCE", "SESSION", "TOKEN", "NAME"], &rows), &()).await
        }
    }
}

/// Tells that there is nothing to list, unless something is left out.
fn tell_if_nothing(surveyed: &Surveyed, text: impl Display, path: &str, output: &Output) {
    if surveyed.locks.is_empty() && surveyed.left_out == 0 {
        output.tell(text, &json!({"event": "nothing", "path": path}));
    }
}

fn row(lock: &SurveyedLock) -> [String; 6] {
    let first = lock.participants.first();
    [
        shown(&lock.path),
        word(lock.kind),
        lock.holding.to_string(),
        lock.waiting.to_string(),
        first.map(|first| time(first.entered)).unwrap_or_default(),
        first.map(name).unwrap_or_default(),
    ]
}

fn participant(one: &Participant) -> [String; 6] {
    [
        word(one.standing),
        word(one.mode),
        time(one.entered),
        format!("{:#x}", one.session_id),
        one.fencing_token.to_text(),
        name(one),
    ]
}

//! `zklock watch`: the changes of the locks below a path, as they come.
//!
//! The servers are asked at intervals. A watch for each lock would cost them more, and the client more memory.

mod changes;

use std::time::SystemTime;

use serde_json::json;
use zklock::Client;

use crate::arguments::Watch;
use crate::exit::Failure;
use crate::output::Output;
use crate::survey::{LeftOut, Looks, is_passing};
use crate::view::{self, name, shown, time};

use self::changes::{Change, State};

/// Prints the state of the locks, and then each change, until this process is ended.
pub(crate) async fn watch(client: &Client, options: &Watch, output: &Output) -> Result<(), Failure> {
    let mut looks = Looks::new(client, options)?;
    let (mut state, mut left_out) = (State::default(), LeftOut::default());
    // The first look must have an answer.
    let mut surveyed = Ok(looks.next().await?);
    loop {
        match surveyed {
            Ok(surveyed) => {
                let now_left_out = LeftOut::of(&surveyed, options.most);
                if now_left_out != left_out {
                    now_left_out.tell(output);
                    left_out = now_left_out;
                }
                let next = State::of(surveyed.locks);
                for change in state.changes(&next) {
                    print(&change, output).await?;
                }
                state = next;
            }
            Err(error) if is_passing(&error) => output.unanswered(&error),
            Err(error) => return Err(error.into()),
        }
        surveyed = looks.next().await;
    }
}

async fn print(change: &Change, output: &Output) -> Result<(), Failure> {
    let (now, word) = (time(SystemTime::now()), change.word());
    let Change { path, participant, .. } = change;
    let text = format!("{now}  {word:<7}  {}  {}\n", shown(path), name(participant));
    let event =
        json!({"time": now, "change": word, "path": path, "participant": view::participant(participant)});
    output.result(text, &event).await
}

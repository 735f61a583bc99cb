//! `zklock watch`: the changes of the locks below a path, as they come.
//!
//! The servers are asked at intervals. A watch for each lock would cost them more, and the client more memory.

use std::collections::BTreeMap;
use std::time::SystemTime;

use serde_json::json;
use zklock::{Client, Participant, Standing, SurveyedLock};

use crate::arguments::Watch;
use crate::exit::Failure;
use crate::output::Output;
use crate::survey::{LeftOut, Looks, is_passing};
use crate::view::{self, name, shown, time};

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

/// The participants of the locks, by their lock and their node.
#[derive(Debug, Default)]
struct State(BTreeMap<(String, String), Participant>);

/// A change of one participant.
#[derive(Debug)]
struct Change {
    path: String,
    participant: Participant,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Waits,
    Holds,
    Leaves,
}

impl State {
    fn of(locks: Vec<SurveyedLock>) -> Self {
        let of_lock = |lock: SurveyedLock| {
            let path = lock.path;
            lock.participants.into_iter().map(move |one| ((path.clone(), one.node.clone()), one))
        };
        Self(locks.into_iter().flat_map(of_lock).collect())
    }

    /// Returns the changes from this state to the next one: first the participants that left.
    fn changes(&self, next: &Self) -> Vec<Change> {
        let change = |((path, _), participant): (&(String, String), &Participant), kind| Change {
            path: path.clone(),
            participant: participant.clone(),
            kind,
        };
        let left = self.0.iter().filter(|(key, _)| !next.0.contains_key(*key));
        let left = left.map(|entry| change(entry, Kind::Leaves));
        let is_new = |(key, one): &(&(String, String), &Participant)| {
            self.0.get(*key).is_none_or(|before| before.standing != one.standing)
        };
        let came = next.0.iter().filter(is_new).map(|entry| {
            let kind = if entry.1.standing == Standing::Holds { Kind::Holds } else { Kind::Waits };
            change(entry, kind)
        });
        left.chain(came).collect()
    }
}

impl Change {
    fn word(&self) -> &'static str {
        match self.kind {
            Kind::Waits => "waits",
            Kind::Holds => "holds",
            Kind::Leaves => "leaves",
        }
    }
}

//! Contenders of both languages that take a lock repeatedly.

use std::future::Future;
use std::ops::AsyncFn;
use std::time::Duration;

use futures_util::future::join_all;
use zklock::Client;

use crate::record::{Diary, Record};
use crate::support::{Space, soon};

pub(crate) const CONTENDERS: usize = 3;
const ROUNDS: usize = 40;

/// The lock of a contest, and the modes in which it is taken.
pub(crate) struct Contest<'a> {
    pub(crate) recipe: &'a str,
    pub(crate) path: &'a str,
    /// The modes that contenders take in turn.
    pub(crate) modes: &'a [&'a str],
    pub(crate) permits: usize,
}

impl Contest<'_> {
    /// Lets all contenders take the lock in turn, those in Rust through `round`, and checks their record.
    ///
    /// The first contenders stay inside until all permits are in use, so that the permits are known to be
    /// shared.
    pub(crate) async fn run(&self, space: &Space, round: impl AsyncFn(&Client, Turn<'_>)) {
        let record = Record::new();
        let mut actors = Vec::new();
        for _ in 0..CONTENDERS {
            let mut actor = space.actor(self.recipe, self.path).await;
            let (modes, file) = (self.modes.join(","), record.path().display());
            let length = self.length().as_millis();
            actor.order(&format!("contend {modes} {ROUNDS} {} {length} {file}", self.permits));
            actors.push(actor);
        }
        let diaries = (0..CONTENDERS).map(|number| record.diary(&format!("rust-{number}")));
        let ours = diaries.map(|diary| self.contend(space, diary, &round));
        soon(join_all(ours)).await;
        for actor in &mut actors {
            actor.answer().await;
        }
        let sections = record.check(self.permits).unwrap_or_else(|error| panic!("{}: {error}", self.recipe));
        assert_eq!(sections.len(), 2 * CONTENDERS);
        assert!(sections.values().all(|count| *count == ROUNDS), "{sections:?}");
    }

    /// Returns the length of a section. With several permits, it is long enough for others to take the
    /// remaining ones.
    fn length(&self) -> Duration {
        Duration::from_millis(if self.permits > 1 { 20 } else { 1 })
    }

    async fn contend(&self, space: &Space, diary: Diary, round: &impl AsyncFn(&Client, Turn<'_>)) {
        let client = space.client(&diary.name).await;
        for mode in self.modes.iter().cycle().take(ROUNDS) {
            round(&client, Turn { contest: self, diary: &diary, mode }).await;
        }
    }
}

pub(crate) struct Turn<'a> {
    contest: &'a Contest<'a>,
    diary: &'a Diary,
    pub(crate) mode: &'a str,
}

impl Turn<'_> {
    pub(crate) fn recipe(&self) -> &str {
        self.contest.recipe
    }

    pub(crate) async fn section(&self) {
        self.diary.enter(self.mode);
        self.stay().await;
        self.diary.leave(self.mode);
    }

    /// Runs the critical section of a writer, then `downgrade`, and then the section of a reader.
    pub(crate) async fn downgrading_section<G>(&self, downgrade: impl Future<Output = G>) -> G {
        self.diary.enter("write");
        self.stay().await;
        self.diary.turn_into("read");
        let reading = downgrade.await;
        self.stay().await;
        self.diary.leave("read");
        reading
    }

    async fn stay(&self) {
        self.diary.stay(self.contest.length(), self.contest.permits).await;
    }
}

//! Checks that the events of each life come in their order, and counts them.

use std::collections::BTreeMap;
use std::{fmt, thread};

use tokio::runtime::Builder;
use zklock::{Client, LockEvent, LockEventKind};

/// The events of a client, as far as they have come.
#[derive(Default)]
pub(super) struct Ledger {
    lives: BTreeMap<u64, Stage>,
    counts: BTreeMap<String, usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Waits,
    Holds,
    Stands,
    Leads,
    Over,
}

/// A thread that takes events until the client is gone.
pub(super) struct Listener(thread::JoinHandle<Ledger>);

impl Listener {
    pub(super) fn start(client: &Client) -> Self {
        let mut events = client.events();
        let runtime = Builder::new_current_thread().build().unwrap();
        Self(thread::spawn(move || {
            runtime.block_on(async {
                let mut ledger = Ledger::default();
                while let Some(event) = events.next().await {
                    assert_eq!(event.missed, 0);
                    ledger.note(&event);
                }
                ledger
            })
        }))
    }

    /// Waits for the end of the client, and returns its events.
    pub(super) async fn end(self) -> Ledger {
        tokio::task::spawn_blocking(|| self.0.join().expect("the events are in order")).await.unwrap()
    }
}

impl Ledger {
    pub(super) fn note(&mut self, event: &LockEvent) {
        use LockEventKind::{
            Acquired, Begun, Cancelled, Confirmed, Contended, Downgraded, Elected, Failed, Lost, PassedOn,
            Queued, Refused, Rejected, ReleaseFailed, Released, Resigned, Suspended, TimedOut, Withdrawn,
        };
        let before = self.lives.get(&event.id).copied();
        let is_candidate = event.mode == zklock::Mode::Leader;
        let after = match (before, &event.kind) {
            (None, Begun { .. }) => {
                if is_candidate {
                    Stage::Stands
                } else {
                    Stage::Waits
                }
            }
            (Some(stage @ (Stage::Waits | Stage::Stands)), Queued { .. }) => stage,
            (
                Some(Stage::Waits),
                Contended { .. } | TimedOut { .. } | Cancelled { .. } | Refused { .. } | Failed { .. },
            ) => Stage::Over,
            (Some(Stage::Waits), Acquired { .. }) => Stage::Holds,
            (Some(stage @ (Stage::Holds | Stage::Leads)), Suspended { .. } | Confirmed { .. }) => stage,
            (Some(Stage::Holds), Downgraded { .. }) => Stage::Holds,
            (Some(Stage::Holds), Released { .. } | PassedOn { .. } | Lost { .. } | ReleaseFailed { .. }) => {
                Stage::Over
            }
            (Some(Stage::Stands), Rejected { .. }) => Stage::Stands,
            (Some(Stage::Stands), Elected { .. }) => Stage::Leads,
            (Some(Stage::Leads), Resigned { .. } | Lost { .. } | ReleaseFailed { .. }) => Stage::Stands,
            (Some(Stage::Stands), Withdrawn { .. }) => Stage::Over,
            (before, _) => panic!("{before:?} has {event:?}"),
        };
        self.lives.insert(event.id, after);
        *self.counts.entry(name(&event.kind)).or_default() += 1;
    }

    pub(super) fn count(&self, names: &[&str]) -> usize {
        names.iter().filter_map(|name| self.counts.get(*name)).sum()
    }

    /// Checks that each life has ended, and that the counts of beginnings and ends agree.
    pub(super) fn check(&self) {
        let open: Vec<_> = self.lives.iter().filter(|(_, stage)| **stage != Stage::Over).collect();
        assert!(open.is_empty(), "without an end: {open:?}");
        let ends = ["Contended", "TimedOut", "Cancelled", "Refused", "Failed", "Acquired", "Withdrawn"];
        assert_eq!(self.count(&["Begun"]), self.count(&ends), "{:?}", self.counts);
        assert_eq!(self.count(&["Begun"]), self.lives.len(), "{:?}", self.counts);
        let ends = ["Released", "PassedOn", "Lost", "ReleaseFailed", "Resigned"];
        assert_eq!(self.count(&["Acquired", "Elected"]), self.count(&ends), "{:?}", self.counts);
    }
}

impl fmt::Debug for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.counts.fmt(f)
    }
}

/// Returns the name of the variant.
pub(super) fn name(kind: &LockEventKind) -> String {
    let text = format!("{kind:?}");
    text.split(' ').next().unwrap_or_default().to_owned()
}

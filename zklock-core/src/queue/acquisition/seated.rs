//! An acquisition that holds its lock, in a form that takes little memory.

use std::sync::Arc;

use crate::queue::claim::{Claim, Place, Role};
use crate::queue::contender::{ContenderId, Name};

use super::memory::{Intent, Seniority, Standing, Traces};
use super::{Acquisition, Node, State};

/// An acquisition that holds its lock. It leaves out what its lease and its session tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seated {
    id: ContenderId,
    standing: Standing,
    stake: Stake,
    traces: Traces,
}

/// A claim without patterns of other clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stake {
    Place(Role),
    Permit { of: u32 },
}

impl Acquisition {
    /// Returns the small form of this acquisition, or `None` if it would leave something out.
    pub(crate) fn seated(&self) -> Option<Seated> {
        let State::Held(Node { owner, .. }) = &self.state else { return None };
        let stake = match &self.claim {
            Claim::Place(place) if place.also_behind.is_empty() => Stake::Place(place.role),
            Claim::Place(_) => return None,
            Claim::Permit { of } => Stake::Permit { of: *of },
        };
        let is_as_usual =
            *owner == self.session && self.intent == Intent::Acquire && self.seniority == Seniority::Settled;
        let Self { id, standing, traces, .. } = *self;
        is_as_usual.then_some(Seated { id, standing, stake, traces })
    }
}

impl Seated {
    /// Returns the acquisition, which is one of this session, and its node, which has this name and this zxid.
    pub(crate) fn rise(self, session: i64, (name, zxid): (&Name, i64)) -> (Acquisition, Node) {
        let Self { id, standing, stake, traces } = self;
        let claim = match stake {
            Stake::Place(role) => Claim::Place(Place { role, also_behind: Arc::default() }),
            Stake::Permit { of } => Claim::Permit { of },
        };
        let node = Node { name: name.text(), zxid, owner: session };
        let (state, intent, seniority) = (State::Held(node.clone()), Intent::Acquire, Seniority::Settled);
        (Acquisition { id, claim, session, state, intent, traces, seniority, standing }, node)
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::queue::acquisition::{Event, Sight};

    const SESSION: i64 = 7;
    const ZXID: i64 = 101;

    /// Returns an acquisition whose contender has the only node of the queue.
    fn first(claim: Claim) -> Acquisition {
        let id = ContenderId::new(Uuid::from_u64_pair(9, 1 << 20));
        let name = format!("{}0000000001", id.node_prefix(claim.role()));
        let (mut machine, _) = Acquisition::start(id, claim, SESSION);
        let node = Node { name: name.as_str().into(), zxid: ZXID, owner: SESSION };
        machine.on(Event::Entered(node, Sight::Listed(vec![name])));
        machine
    }

    #[test]
    fn a_holder_is_the_same_after_a_rest() {
        let roles = [Role::Exclusive, Role::Read, Role::Write, Role::Latch];
        let claims = roles.map(Claim::place).into_iter().chain([Claim::Permit { of: 3 }]);
        for machine in claims.map(first) {
            let seated = machine.seated().expect("it holds the lock");
            let name = Name::new(&machine.node().unwrap().name);
            let (risen, node) = seated.rise(SESSION, (&name, ZXID));
            assert_eq!((risen.node(), &risen), (Some(&node), &machine));
        }
        let writer = first(Claim::place(Role::Write));
        let name = Name::new(&writer.node().unwrap().name);
        let (mut reader, _) = writer.seated().unwrap().rise(SESSION, (&name, ZXID));
        reader.on(Event::Downgrade);
        assert_eq!(reader.seated(), None, "a downgrade is under way");
    }

    #[test]
    fn an_acquisition_that_has_more_to_remember_does_not_rest() {
        let id = ContenderId::new(Uuid::from_u64_pair(9, 1 << 20));
        assert_eq!(Acquisition::start(id, Claim::place(Role::Exclusive), SESSION).0.seated(), None);
        let also_behind = ["__lock__".to_owned()].into();
        assert_eq!(first(Claim::Place(Place { role: Role::Write, also_behind })).seated(), None);
        let mut leaving = first(Claim::place(Role::Exclusive));
        leaving.on(Event::Cancel);
        assert_eq!(leaving.seated(), None);
    }
}

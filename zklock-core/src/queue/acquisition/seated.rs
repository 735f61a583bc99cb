//! An acquisition that holds its lock, in a form that takes little memory.

use std::num::NonZeroU32;
use std::sync::Arc;

use crate::queue::claim::{Claim, Place};
use crate::queue::contender::Name;

use super::memory::{Intent, Seniority, Standing, Traces};
use super::{Acquisition, Node, State};

/// An acquisition that holds its lock. It leaves out what its lease and its session tell, and the name of its node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seated {
    /// The number of permits, if the place is one of them.
    permits: Option<NonZeroU32>,
    rank: Rank,
    traces: Traces,
}

/// Whether the number of the node is known to be first in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rank {
    Unknown,
    First,
}

impl Acquisition {
    /// Returns the small form of this acquisition, or `None` if it would leave something out.
    pub(crate) fn seated(&self) -> Option<Seated> {
        let State::Held(Node { name, owner, .. }) = &self.state else { return None };
        let (id, role, number) = Name::new(name).parts()?;
        let permits = match &self.claim {
            Claim::Place(place) if place.also_behind.is_empty() => None,
            Claim::Place(_) => return None,
            Claim::Permit { of } => Some(NonZeroU32::new(*of)?),
        };
        let rank = match self.standing {
            Standing::Unknown => Rank::Unknown,
            Standing::First(first) if first == number => Rank::First,
            Standing::First(_) | Standing::Left(_) => return None,
        };
        let is_as_named = id == self.id && role == self.claim.role();
        let is_as_usual =
            *owner == self.session && self.intent == Intent::Acquire && self.seniority == Seniority::Settled;
        (is_as_named && is_as_usual).then_some(Seated { permits, rank, traces: self.traces })
    }
}

impl Seated {
    /// Returns the acquisition, which is one of this session, and its node, which has this name and this zxid.
    pub(crate) fn rise(self, session: i64, (name, zxid): (&Name, i64)) -> (Acquisition, Node) {
        let Self { permits, rank, traces } = self;
        let (id, role, number) = name.parts().expect("the name tells all that was left out");
        let claim = match permits {
            None => Claim::Place(Place { role, also_behind: Arc::default() }),
            Some(of) => Claim::Permit { of: of.get() },
        };
        let standing = match rank {
            Rank::Unknown => Standing::Unknown,
            Rank::First => Standing::First(number),
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
    use crate::queue::claim::Role;
    use crate::queue::contender::ContenderId;

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
        reader.on(Event::Refused);
        assert_eq!(reader.seated(), None, "the name of the node is not that of the next attempt");
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

//! The lock or the permits that the calls of one local queue want.

use std::sync::Arc;

use crate::contend::{Count, Permits, Wanted};
use crate::queue::predicate::{Place, Role};

use super::held::{Kind, Mode};

/// The properties that tell the local queues at one path apart. Those that differ exclude each other on the servers.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Key {
    Lock {
        recipe: Recipe,
        /// `None` for most locks, which wait for none.
        also_behind: Option<Box<OtherNames>>,
    },
    Permits(Box<Permits>),
}

/// The contenders of other clients to wait for, by the text in front of their sequence.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct OtherNames(Arc<[String]>);

impl Key {
    pub(super) fn lock(recipe: Recipe, also_behind: &Arc<[String]>) -> Self {
        let also_behind = Some(also_behind).filter(|names| !names.is_empty());
        Self::Lock { recipe, also_behind: also_behind.map(|names| Box::new(OtherNames(names.clone()))) }
    }

    pub(super) fn kind(&self) -> Kind {
        let Self::Permits(permits) = self else { return Kind::Lock };
        let most = match permits.count {
            Count::Agreed(of) => usize::try_from(of / permits.wanted).ok(),
            Count::Shared { .. } => None,
        };
        Kind::Permits { each: permits.wanted, most }
    }

    /// Returns what a contender in this mode takes.
    pub(super) fn wanted(&self, mode: Mode) -> Wanted {
        let (recipe, also_behind) = match self {
            Self::Lock { recipe, also_behind } => (recipe, also_behind),
            Self::Permits(permits) => return Wanted::Permits(Permits::clone(permits)),
        };
        let role = match (recipe, mode) {
            (Recipe::Mutex, _) => Role::Exclusive,
            (Recipe::ReadWrite, Mode::Shared) => Role::Read,
            (Recipe::ReadWrite, Mode::Exclusive) => Role::Write,
        };
        let also_behind = also_behind.as_ref().map(|names| names.0.clone()).unwrap_or_default();
        Wanted::Place(Place { role, also_behind })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Recipe {
    Mutex,
    ReadWrite,
}

//! The lock or permits that an attempt is to take.

use std::sync::Arc;

use crate::path::NodePath;
use crate::queue::claim::Place;

/// The lock or permits that an attempt is to take.
#[derive(Clone, Debug)]
pub(crate) enum Wanted {
    /// A place in one queue.
    Place(Place),
    /// A place in one queue, for calls whose client had another place until now.
    NextPlace(Place),
    /// Permits of a semaphore, all or none.
    Permits(Permits),
    /// A place in the queue of an election, with the candidate's identity as the data of its node.
    Office { place: Place, identity: Arc<Vec<u8>> },
}

/// A number of permits of one semaphore.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Permits {
    pub(crate) wanted: u32,
    pub(crate) count: Count,
}

/// The number of permits of a semaphore.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Count {
    /// Each participant is given this number, which is stored in the semaphore's node.
    Agreed(u32),
    /// All participants use the number in the node at `path`, which is created with `seed` if it is missing.
    Shared { path: NodePath, seed: u32 },
}

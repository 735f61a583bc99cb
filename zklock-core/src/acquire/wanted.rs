//! What an attempt is to take.

use std::sync::Arc;

use crate::path::NodePath;
use crate::queue::claim::Place;

/// What an attempt is to take.
#[derive(Clone, Debug)]
pub(crate) enum Wanted {
    /// A place in one queue.
    Place(Place),
    /// Permits of a semaphore, all or none.
    Permits(Permits),
    /// A place in one queue, under a name of its own.
    Office { place: Place, identity: Arc<[u8]> },
}

/// So many permits of a semaphore.
#[derive(Clone, Debug)]
pub(crate) struct Permits {
    pub(crate) wanted: u32,
    pub(crate) count: Count,
}

/// How many permits a semaphore has.
#[derive(Clone, Debug)]
pub(crate) enum Count {
    /// All participants are given this number, which stands in the semaphore's node.
    Agreed(u32),
    /// All participants go by the number in this node.
    Shared { path: NodePath, seed: u32 },
}

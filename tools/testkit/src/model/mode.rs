//! The modes of creates, and the times to live that fit them: `CreateMode` and `EphemeralType.validateTTL`.

use crate::wire::{CreateFlags, ErrorCode};

/// The longest time to live in milliseconds, which has five bytes.
const LONGEST_TTL: i64 = 0xff_ffff_ffff;

/// The mode that the flags of a create stand for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mode {
    pub(super) life: Life,
    pub(super) naming: Naming,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Life {
    Session,
    Unlimited,
    TimeToLive,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Naming {
    Given,
    Counted,
}

/// The operation that creates a node, which determines its kind together with the flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    Create,
    CreateContainer,
    /// The operation that has a time to live, in milliseconds.
    CreateTtl(i64),
}

impl Mode {
    pub(super) fn of(flags: CreateFlags) -> Result<Self, ErrorCode> {
        let (life, naming) = match flags {
            CreateFlags::PERSISTENT | CreateFlags::CONTAINER => (Life::Unlimited, Naming::Given),
            CreateFlags::EPHEMERAL => (Life::Session, Naming::Given),
            CreateFlags::PERSISTENT_SEQUENTIAL => (Life::Unlimited, Naming::Counted),
            CreateFlags::EPHEMERAL_SEQUENTIAL => (Life::Session, Naming::Counted),
            CreateFlags::PERSISTENT_WITH_TTL => (Life::TimeToLive, Naming::Given),
            CreateFlags::PERSISTENT_SEQUENTIAL_WITH_TTL => (Life::TimeToLive, Naming::Counted),
            _ => return Err(ErrorCode::BAD_ARGUMENTS),
        };
        Ok(Self { life, naming })
    }

    /// Checks that a server creates nodes of this mode by this operation.
    pub(super) fn check(self, by: By, ttl_nodes: bool) -> Result<(), ErrorCode> {
        match (self.life, by) {
            (Life::TimeToLive, _) if !ttl_nodes => Err(ErrorCode::UNIMPLEMENTED),
            (Life::TimeToLive, By::CreateTtl(1..=LONGEST_TTL)) => Ok(()),
            (Life::TimeToLive, _) | (_, By::CreateTtl(0..)) => Err(ErrorCode::BAD_ARGUMENTS),
            // A real server ends at this request.
            (_, By::CreateTtl(_)) => Err(ErrorCode::UNIMPLEMENTED),
            (_, By::Create | By::CreateContainer) => Ok(()),
        }
    }
}

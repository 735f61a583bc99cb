//! The events that can happen next.

/// An event that can happen to one peer next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Deliver,
    LoseRequest,
    DelayCreate,
    LoseReply,
    LoseListReply,
    ApplyLateCreate,
    SpuriousWatchEvent,
    OutsiderDeletes,
    NoticeDeletion,
    Expire,
    ReplaceSession,
    NoticeExpiry,
    Cancel,
    Skip,
    Refuse,
    LocateTooEarly,
    OutsiderDeletesParent,
    Downgrade,
    EnterAgain,
    Reconnect,
}

pub(super) const STEPS: [Step; 20] = [
    Step::Deliver,
    Step::LoseRequest,
    Step::DelayCreate,
    Step::LoseReply,
    Step::LoseListReply,
    Step::ApplyLateCreate,
    Step::SpuriousWatchEvent,
    Step::OutsiderDeletes,
    Step::NoticeDeletion,
    Step::Expire,
    Step::ReplaceSession,
    Step::NoticeExpiry,
    Step::Cancel,
    Step::Skip,
    Step::Refuse,
    Step::LocateTooEarly,
    Step::OutsiderDeletesParent,
    Step::Downgrade,
    Step::EnterAgain,
    Step::Reconnect,
];

impl Step {
    /// Tells whether the peer's connection breaks, and another one takes its place.
    pub(super) fn breaks_the_connection(self) -> bool {
        matches!(
            self,
            Self::LoseRequest
                | Self::DelayCreate
                | Self::LoseReply
                | Self::LoseListReply
                | Self::ReplaceSession
                | Self::Reconnect
        )
    }

    /// Tells whether the step takes one fault from the budget.
    pub(super) fn is_fault(self) -> bool {
        match self {
            Self::LoseRequest
            | Self::DelayCreate
            | Self::LoseReply
            | Self::LoseListReply
            | Self::SpuriousWatchEvent
            | Self::OutsiderDeletes
            | Self::Expire
            | Self::Refuse
            | Self::LocateTooEarly
            | Self::OutsiderDeletesParent
            | Self::ReplaceSession
            | Self::Reconnect => true,
            Self::Deliver
            | Self::ApplyLateCreate
            | Self::NoticeDeletion
            | Self::NoticeExpiry
            | Self::Cancel
            | Self::Skip
            | Self::Downgrade
            | Self::EnterAgain => false,
        }
    }
}

//! The events that can happen next.

/// An event that can happen to one peer next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Deliver,
    /// The queue's node is created together with the contender's.
    Found,
    LoseRequest,
    DelayCreate,
    DelayFounding,
    LoseReply,
    LoseReplyToFounding,
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
}

pub(super) const STEPS: [Step; 22] = [
    Step::Deliver,
    Step::Found,
    Step::LoseRequest,
    Step::DelayCreate,
    Step::DelayFounding,
    Step::LoseReply,
    Step::LoseReplyToFounding,
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
];

impl Step {
    /// Tells whether the peer's connection breaks, and another one takes its place.
    pub(super) fn breaks_the_connection(self) -> bool {
        matches!(
            self,
            Self::LoseRequest
                | Self::DelayCreate
                | Self::DelayFounding
                | Self::LoseReply
                | Self::LoseReplyToFounding
                | Self::LoseListReply
                | Self::ReplaceSession
        )
    }

    /// Tells whether the step takes one fault from the budget.
    pub(super) fn is_fault(self) -> bool {
        let is_of_others = matches!(
            self,
            Self::SpuriousWatchEvent
                | Self::OutsiderDeletes
                | Self::Expire
                | Self::Refuse
                | Self::LocateTooEarly
                | Self::OutsiderDeletesParent
        );
        self.breaks_the_connection() || is_of_others
    }
}

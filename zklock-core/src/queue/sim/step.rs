//! The events that can happen next.

macro_rules! steps {
    ($($(#[$doc:meta])* $step:ident,)*) => {
        /// An event that can happen to one peer next.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Step {
            $($(#[$doc])* $step,)*
        }

        pub(super) const STEPS: &[Step] = &[$(Step::$step,)*];
    };
}

steps! {
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

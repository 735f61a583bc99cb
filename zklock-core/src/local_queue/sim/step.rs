//! The events that can happen next.

/// An event that can happen next. The numbers are those of a process, and of its call or its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Arrive(usize, usize),
    Leave(usize, usize),
    TellGone(usize, usize),
    Receive(usize, usize),
    GiveBack(usize, usize),
    Write(usize, usize),
    Downgrade(usize, usize),
    Answer(usize, usize),
    Doubt(usize, usize),
    Ask(usize, usize),
    Fire(usize, usize),
    Arm(usize, usize),
    NoticeEnd(usize, usize),
    ApplyDowngrade(usize, usize),
    Expel(usize, usize),
    Delete(usize),
    Create(usize),
    Tell(usize),
    Head(usize),
    Withdraw(usize),
    TurnAway(usize),
    EnterAgain(usize),
    Refuse(usize),
    Work(usize),
    Suspend(usize),
    Confirm(usize),
    Lose(usize),
    EndSession(usize),
    Close(usize),
    EnterForeign,
    HoldForeign,
    LeaveForeign,
    Tick,
}

impl Step {
    /// Tells whether the step is the work of a client, which a prompt client does before anything else.
    pub(super) fn is_work(self) -> bool {
        matches!(
            self,
            Self::TellGone(..)
                | Self::Receive(..)
                | Self::Arm(..)
                | Self::NoticeEnd(..)
                | Self::ApplyDowngrade(..)
                | Self::Delete(_)
                | Self::Tell(_)
                | Self::EnterAgain(_)
                | Self::Withdraw(_)
                | Self::TurnAway(_)
                | Self::Work(_)
        )
    }

    pub(super) fn is_fault(self) -> bool {
        matches!(
            self,
            Self::Doubt(..)
                | Self::Ask(..)
                | Self::Expel(..)
                | Self::Refuse(_)
                | Self::Suspend(_)
                | Self::Close(_)
        )
    }
}

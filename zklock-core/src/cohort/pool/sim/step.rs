//! The events that can happen next.

/// An event that can happen next. The numbers are those of a client, and of its call, its node or its contender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Arrive(usize, usize),
    Leave(usize, usize),
    TellGone(usize, usize),
    Receive(usize, usize),
    GiveBack(usize, usize),
    Write(usize, usize),
    Answer(usize),
    Doubt(usize),
    Ask(usize),
    /// The watch of the entry fires, and tells nothing of the own node.
    Fire(usize),
    Arm(usize),
    NoticeEnd(usize),
    Expel(usize),
    Delete(usize),
    Create(usize, usize),
    Head(usize, usize),
    Withdraw(usize, usize),
    EnterAgain(usize, usize),
    Refuse(usize, usize),
    Work(usize),
    Suspend(usize),
    Confirm(usize),
    EndSession(usize),
    Close(usize),
    Tick,
}

impl Step {
    /// Tells whether the step is the work of a client, which it does before anything else happens.
    pub(super) fn is_work(self) -> bool {
        matches!(
            self,
            Self::TellGone(..)
                | Self::Receive(..)
                | Self::Arm(_)
                | Self::NoticeEnd(_)
                | Self::Delete(_)
                | Self::EnterAgain(..)
                | Self::Withdraw(..)
                | Self::Work(_)
        )
    }

    pub(super) fn is_fault(self) -> bool {
        matches!(
            self,
            Self::Doubt(_)
                | Self::Ask(_)
                | Self::Expel(_)
                | Self::Refuse(..)
                | Self::Suspend(_)
                | Self::Close(_)
        )
    }
}

//! The selection of the frames that a rule strikes.

use crate::wire::Opcode;

/// The kind of a frame, for rules and counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Request(Opcode),
    Reply(Opcode),
    /// A reply that tells of a new node: to `create2`, or to a transaction that begins with a create.
    Created(Opcode),
    /// A reply with the reason why the request failed.
    Refusal(Opcode),
    /// A reply to no known request, for example because the number of the request was rewritten.
    Unasked,
    Notification,
}

/// The kinds of frames that a rule applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Matcher {
    Request(Opcode),
    AnyRequest,
    Reply(Opcode),
    Success(Opcode),
    Created,
    AnyReply,
    Notification,
}

impl Matcher {
    pub(super) fn matches(self, kind: Kind) -> bool {
        match self {
            Self::Request(opcode) => kind == Kind::Request(opcode),
            Self::AnyRequest => matches!(kind, Kind::Request(_)),
            Self::Reply(opcode) => {
                [Kind::Reply(opcode), Kind::Created(opcode), Kind::Refusal(opcode)].contains(&kind)
            }
            Self::Success(opcode) => [Kind::Reply(opcode), Kind::Created(opcode)].contains(&kind),
            Self::Created => matches!(kind, Kind::Created(_)),
            Self::AnyReply => {
                matches!(kind, Kind::Reply(_) | Kind::Created(_) | Kind::Refusal(_) | Kind::Unasked)
            }
            Self::Notification => kind == Kind::Notification,
        }
    }
}

/// A counter of the frames that a rule applies to, which decides which of them it strikes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Trigger {
    pub(super) matcher: Matcher,
    /// The number of frames that pass before the first one is struck.
    pub(super) skip: u64,
    /// The number of frames that are struck then; `None` for all that follow.
    pub(super) times: Option<u64>,
}

impl Trigger {
    /// Creates a trigger that strikes only the next frame.
    pub(super) fn new(matcher: Matcher) -> Self {
        Self { matcher, skip: 0, times: Some(1) }
    }

    /// Counts the next frame, and returns whether it is struck.
    pub(super) fn strikes(&mut self, kind: Kind) -> bool {
        if !self.matcher.matches(kind) {
            return false;
        }
        if self.skip > 0 {
            self.skip -= 1;
            return false;
        }
        let strikes = self.times != Some(0);
        self.times = self.times.map(|left| left.saturating_sub(1));
        strikes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_matcher_matches_its_frames_only() {
        use Kind as K;
        let kinds = [
            K::Request(Opcode::CREATE),
            K::Request(Opcode::PING),
            K::Reply(Opcode::CREATE),
            K::Reply(Opcode::PING),
            K::Refusal(Opcode::CREATE),
            K::Created(Opcode::CREATE),
            K::Notification,
        ];
        let cases = [
            (Matcher::Request(Opcode::CREATE), [true, false, false, false, false, false, false]),
            (Matcher::AnyRequest, [true, true, false, false, false, false, false]),
            (Matcher::Reply(Opcode::CREATE), [false, false, true, false, true, true, false]),
            (Matcher::Success(Opcode::CREATE), [false, false, true, false, false, true, false]),
            (Matcher::Created, [false, false, false, false, false, true, false]),
            (Matcher::AnyReply, [false, false, true, true, true, true, false]),
            (Matcher::Notification, [false, false, false, false, false, false, true]),
        ];
        for (matcher, expected) in cases {
            assert_eq!(kinds.map(|kind| matcher.matches(kind)), expected, "{matcher:?}");
        }
    }
}

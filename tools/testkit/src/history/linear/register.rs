//! The sequential model of a resource that knows tokens.

use super::super::access::Outcome;
use super::super::event::Token;
use super::model::Model;
use super::operation::Operation;

/// A register that refuses writes with tokens that are older than the latest one that it has seen.
#[derive(Clone, Copy, Debug, Default)]
pub struct FencedRegister;

/// An operation of a fenced register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegisterOp {
    /// A write. One with an unknown outcome takes effect as one that is applied, if it does.
    Write {
        /// The token, or `None` for a writer without one, which the register always admits.
        token: Option<Token>,
        /// The value.
        value: u64,
        /// The answer.
        outcome: Outcome,
    },
    /// A read of this value.
    Read(u64),
}

/// The state of a fenced register.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct RegisterState {
    /// The greatest token that the register has seen.
    pub token: Option<Token>,
    /// The value, or `None` if nobody has written or read it yet.
    pub value: Option<u64>,
}

impl Model for FencedRegister {
    type Op = RegisterOp;
    type State = RegisterState;

    fn initial(&self) -> RegisterState {
        RegisterState::default()
    }

    fn step(&self, state: &RegisterState, op: &RegisterOp) -> Option<RegisterState> {
        match *op {
            RegisterOp::Read(value) => {
                let is_right = state.value.is_none_or(|known| known == value);
                is_right.then_some(RegisterState { value: Some(value), ..*state })
            }
            RegisterOp::Write { token, outcome: Outcome::Refused, .. } => {
                (token.is_some() && token < state.token).then_some(*state)
            }
            RegisterOp::Write { token, value, .. } => {
                let is_admitted = token.is_none() || token >= state.token;
                is_admitted.then(|| RegisterState { token: state.token.max(token), value: Some(value) })
            }
        }
    }

    /// The state is known if one write was applied with a greater token than all others.
    fn after(&self, operations: &[Operation<RegisterOp>]) -> Option<RegisterState> {
        let writes = operations.iter().filter_map(|operation| match operation.op {
            RegisterOp::Write { token, value, outcome } if outcome != Outcome::Refused => {
                Some((token, value, operation.is_certain()))
            }
            _ => None,
        });
        let writes: Vec<_> = writes.collect();
        let greatest = writes.iter().map(|(token, ..)| *token).max()?;
        let mut last = writes.iter().filter(|(token, ..)| *token == greatest);
        let fenced = writes.iter().all(|(token, ..)| token.is_some());
        match (last.next(), last.next()) {
            (Some((token, value, true)), None) if fenced => {
                Some(RegisterState { token: *token, value: Some(*value) })
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(zxid: Option<u64>, value: u64, outcome: Outcome) -> RegisterOp {
        RegisterOp::Write { token: zxid.map(|zxid| Token(zxid, 0)), value, outcome }
    }

    fn allows(ops: &[RegisterOp]) -> bool {
        let first = FencedRegister.initial();
        ops.iter().try_fold(first, |state, op| FencedRegister.step(&state, op)).is_some()
    }

    #[test]
    fn the_register_refuses_older_tokens_and_no_others() {
        let second = |zxid, outcome| [write(Some(5), 1, Outcome::Applied), write(zxid, 2, outcome)];
        for (zxid, is_taken) in [(Some(4), false), (Some(5), true), (Some(6), true), (None, true)] {
            assert_eq!(allows(&second(zxid, Outcome::Applied)), is_taken);
            assert_eq!(allows(&second(zxid, Outcome::Unknown)), is_taken);
            assert_eq!(allows(&second(zxid, Outcome::Refused)), !is_taken);
        }
    }

    #[test]
    fn a_read_has_the_value_of_the_last_write_that_was_taken() {
        let read = |value| {
            let written = [write(Some(5), 1, Outcome::Applied), write(Some(4), 2, Outcome::Refused)];
            allows(&[&written[..], &[RegisterOp::Read(value)]].concat())
        };
        assert!(read(1) && !read(2));
        assert!(allows(&[RegisterOp::Read(7), RegisterOp::Read(7)]));
        assert!(!allows(&[RegisterOp::Read(7), RegisterOp::Read(8)]));
    }
}

//! The sequential models of locks.

use std::fmt::Debug;
use std::hash::Hash;

use super::super::event::Token;
use super::super::source::CallId;
use super::operation::Operation;

/// A sequential model.
pub trait Model {
    /// An operation with its result.
    type Op: Clone + Debug + PartialEq;
    /// A state of the model.
    type State: Clone + Debug + Eq + Hash;

    /// Returns the state at the beginning.
    fn initial(&self) -> Self::State;

    /// Returns the state after an operation with this result, or `None` if the model does not allow it.
    fn step(&self, state: &Self::State, op: &Self::Op) -> Option<Self::State>;

    /// Returns the state after all of these operations, which are all that there were, or `None` if it depends on
    /// their order or on an operation that may not have taken effect.
    fn after(&self, operations: &[Operation<Self::Op>]) -> Option<Self::State>;
}

/// An operation of a lock for one holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockOp {
    /// The lock was acquired.
    Acquire {
        /// The logical call that has the lock.
        who: CallId,
        /// The fencing token.
        token: Option<Token>,
    },
    /// The lock was released, or the hold was over in another way.
    Release {
        /// The logical call that had the lock.
        who: CallId,
    },
}

/// A lock for one holder, which may not acquire it again. Tokens are left out of account.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mutex;

impl Model for Mutex {
    type Op = LockOp;
    type State = Option<CallId>;

    fn initial(&self) -> Self::State {
        None
    }

    fn step(&self, state: &Self::State, op: &LockOp) -> Option<Self::State> {
        match (*state, *op) {
            (None, LockOp::Acquire { who, .. }) => Some(Some(who)),
            (Some(holder), LockOp::Release { who }) if holder == who => Some(None),
            _ => None,
        }
    }

    fn after(&self, operations: &[Operation<LockOp>]) -> Option<Self::State> {
        Reentrant.after(operations).map(|places| places.holder.map(|(who, _, _)| who))
    }
}

/// A lock for one holder, whose tokens rise from holder to holder.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fenced;

impl Model for Fenced {
    type Op = LockOp;
    type State = Places;

    fn initial(&self) -> Places {
        Places::default()
    }

    fn step(&self, state: &Places, op: &LockOp) -> Option<Places> {
        let next = Reentrant.step(state, op)?;
        next.holder.is_none_or(|(_, count, _)| count == 1).then_some(next)
    }

    fn after(&self, operations: &[Operation<LockOp>]) -> Option<Places> {
        Reentrant.after(operations)
    }
}

/// A lock for one holder, which may acquire it again and then has the same token, and whose tokens rise from holder to
/// holder.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reentrant;

/// The state of a lock whose holder may acquire it again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Places {
    /// The holder, the number of its holds, and its token.
    pub holder: Option<(CallId, u32, Option<Token>)>,
    /// The greatest token of all holders so far.
    pub last: Option<Token>,
}

impl Model for Reentrant {
    type Op = LockOp;
    type State = Places;

    fn initial(&self) -> Places {
        Places::default()
    }

    fn step(&self, state: &Places, op: &LockOp) -> Option<Places> {
        match (state.holder, *op) {
            (None, LockOp::Acquire { who, token }) if token.is_none() || token > state.last => {
                Some(Places { holder: Some((who, 1, token)), last: state.last.max(token) })
            }
            (Some((holder, count, own)), LockOp::Acquire { who, token }) if holder == who && own == token => {
                Some(Places { holder: Some((who, count + 1, own)), ..*state })
            }
            (Some((holder, count, own)), LockOp::Release { who }) if holder == who => {
                let holder = (count > 1).then(|| (who, count - 1, own));
                Some(Places { holder, ..*state })
            }
            _ => None,
        }
    }

    fn after(&self, operations: &[Operation<LockOp>]) -> Option<Places> {
        let (mut open, mut last) = (Vec::new(), None);
        for operation in operations {
            match operation.op {
                LockOp::Acquire { who, token } => {
                    open.push((who, token));
                    last = last.max(token);
                }
                LockOp::Release { who } => {
                    let at = open.iter().position(|(holder, _)| *holder == who)?;
                    open.swap_remove(at);
                }
            }
            operation.is_certain().then_some(())?;
        }
        let first = open.first().copied();
        let is_one = open.iter().all(|hold| Some(*hold) == first);
        let count = u32::try_from(open.len()).ok()?;
        is_one.then(|| Places { holder: first.map(|(who, token)| (who, count, token)), last })
    }
}

/// An operation of a read-write lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadWriteOp {
    /// A reader came in.
    Read,
    /// A reader left.
    EndRead,
    /// A writer came in.
    Write,
    /// A writer left.
    EndWrite,
}

/// A lock for one writer or any number of readers.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReadWrite;

impl Model for ReadWrite {
    type Op = ReadWriteOp;
    /// The numbers of readers and of writers.
    type State = (u32, u32);

    fn initial(&self) -> Self::State {
        (0, 0)
    }

    fn step(&self, state: &Self::State, op: &ReadWriteOp) -> Option<Self::State> {
        match (*state, op) {
            ((readers, 0), ReadWriteOp::Read) => Some((readers + 1, 0)),
            ((readers, writers), ReadWriteOp::EndRead) => Some((readers.checked_sub(1)?, writers)),
            ((0, 0), ReadWriteOp::Write) => Some((0, 1)),
            ((readers, 1), ReadWriteOp::EndWrite) => Some((readers, 0)),
            _ => None,
        }
    }

    fn after(&self, operations: &[Operation<ReadWriteOp>]) -> Option<Self::State> {
        let mut counts = [0; 4];
        for operation in operations {
            operation.is_certain().then(|| counts[operation.op as usize] += 1)?;
        }
        let [reads, read_ends, writes, write_ends] = counts;
        let (readers, writers) = (u32::checked_sub(reads, read_ends)?, u32::checked_sub(writes, write_ends)?);
        matches!((readers, writers), (_, 0) | (0, 1)).then_some((readers, writers))
    }
}

/// An operation of a semaphore.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PermitsOp {
    /// This many permits were acquired.
    Acquire(u32),
    /// This many permits were given back.
    Release(u32),
}

/// A semaphore with this number of permits.
#[derive(Clone, Copy, Debug)]
pub struct Permits(pub u32);

impl Model for Permits {
    type Op = PermitsOp;
    /// The number of permits that are held.
    type State = u32;

    fn initial(&self) -> u32 {
        0
    }

    fn step(&self, state: &u32, op: &PermitsOp) -> Option<u32> {
        match *op {
            PermitsOp::Acquire(n) => state.checked_add(n).filter(|held| *held <= self.0),
            PermitsOp::Release(n) => state.checked_sub(n),
        }
    }

    fn after(&self, operations: &[Operation<PermitsOp>]) -> Option<u32> {
        let mut held = 0_i64;
        for operation in operations {
            operation.is_certain().then_some(())?;
            held += match operation.op {
                PermitsOp::Acquire(n) => i64::from(n),
                PermitsOp::Release(n) => -i64::from(n),
            };
        }
        u32::try_from(held).ok().filter(|held| *held <= self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::source::Process;
    use super::*;

    fn call(number: u64) -> CallId {
        CallId { process: Process { number: 1, incarnation: 0 }, task: 0, call: number }
    }

    fn acquire(who: u64, zxid: u64) -> LockOp {
        LockOp::Acquire { who: call(who), token: Some(Token(zxid, 0)) }
    }

    fn release(who: u64) -> LockOp {
        LockOp::Release { who: call(who) }
    }

    fn allows<M: Model>(model: &M, ops: &[M::Op]) -> bool {
        ops.iter().try_fold(model.initial(), |state, op| model.step(&state, op)).is_some()
    }

    #[test]
    fn only_the_holder_releases_a_lock() {
        let ops = |who| [acquire(1, 5), release(who)];
        for (who, is_right) in [(1, true), (2, false)] {
            assert_eq!(allows(&Mutex, &ops(who)), is_right);
            assert_eq!(allows(&Fenced, &ops(who)), is_right);
            assert_eq!(allows(&Reentrant, &ops(who)), is_right);
        }
        assert!(!allows(&Mutex, &[release(1)]));
    }

    #[test]
    fn only_the_reentrant_lock_is_acquired_again_and_then_with_the_same_token() {
        let twice = |zxid| [acquire(1, 5), acquire(1, zxid), release(1), release(1)];
        assert!(!allows(&Mutex, &twice(5)));
        assert!(!allows(&Fenced, &twice(5)));
        assert!(allows(&Reentrant, &twice(5)));
        assert!(!allows(&Reentrant, &twice(6)));
        assert!(!allows(&Reentrant, &[acquire(1, 5), acquire(1, 5), release(1), acquire(2, 6)]));
    }

    #[test]
    fn tokens_rise_from_holder_to_holder() {
        let holders = |zxid| [acquire(1, 5), release(1), acquire(2, zxid)];
        assert!(allows(&Fenced, &holders(6)) && allows(&Reentrant, &holders(6)));
        assert!(!allows(&Fenced, &holders(5)) && !allows(&Reentrant, &holders(5)));
        assert!(allows(&Mutex, &holders(4)));
    }

    #[test]
    fn readers_share_the_lock_and_a_writer_has_it_alone() {
        use ReadWriteOp::{EndRead, EndWrite, Read, Write};
        assert!(allows(&ReadWrite, &[Read, Read, EndRead, EndRead, Write, EndWrite, Read]));
        for ops in [&[Read, Write][..], &[Write, Read], &[Write, Write], &[EndRead], &[Read, EndWrite]] {
            assert!(!allows(&ReadWrite, ops), "{ops:?}");
        }
    }

    #[test]
    fn permits_are_at_most_their_number() {
        use PermitsOp::{Acquire, Release};
        assert!(allows(&Permits(3), &[Acquire(2), Acquire(1), Release(2), Acquire(2)]));
        assert!(!allows(&Permits(3), &[Acquire(2), Acquire(2)]));
        assert!(!allows(&Permits(3), &[Acquire(1), Release(2)]));
    }
}

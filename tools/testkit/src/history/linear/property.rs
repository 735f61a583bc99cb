//! The check against brute force, and on executions that are linearizable by construction.

use proptest::prelude::*;

use super::super::access::Outcome;
use super::super::event::Token;
use super::super::source::{CallId, Process};
use super::*;

/// No window of these tests has as many configurations.
const LIMIT: usize = 1_000_000;

fn call(number: u64) -> CallId {
    CallId { process: Process { number: 1, incarnation: 0 }, task: 0, call: number }
}

/// Tries every order of the operations, with and without those that may not have taken effect.
fn brute_force<M: Model>(model: &M, operations: &[Operation<M::Op>]) -> bool {
    fn extend<M: Model>(model: &M, left: &[&Operation<M::Op>], state: &M::State) -> bool {
        if left.iter().all(|operation| !operation.is_certain()) {
            return true;
        }
        // An operation may come next if no other one that is left ended before it began.
        let may_be_next = |next: &&&Operation<M::Op>| {
            let is_over = |other: &&&Operation<M::Op>| other.last().is_some_and(|last| last < next.invoked);
            !left.iter().any(|other| is_over(&other))
        };
        left.iter().filter(may_be_next).any(|next| {
            let rest: Vec<_> = left.iter().copied().filter(|other| !std::ptr::eq(*other, *next)).collect();
            let taken = model.step(state, &next.op).is_some_and(|state| extend(model, &rest, &state));
            taken || (!next.is_certain() && extend(model, &rest, state))
        })
    }
    extend(model, &operations.iter().collect::<Vec<_>>(), &model.initial())
}

fn is_accepted<M: Model>(model: &M, operations: &[Operation<M::Op>]) -> bool {
    let report = check(model, operations, LIMIT);
    assert_eq!(report.unchecked, []);
    assert_eq!(report.windows, windows(operations).len());
    report.failure.is_none()
}

/// Times of up to 30, so that beginnings and ends often coincide.
fn span() -> impl Strategy<Value = (u64, Span)> {
    (0..30_u64, 0..15_u64, 0..8_u8).prop_map(|(invoked, length, certainty)| {
        let span = match certainty {
            0 => Span::Uncertain { until: None },
            1 => Span::Uncertain { until: Some(invoked + length) },
            _ => Span::Certain { returned: invoked + length },
        };
        (invoked, span)
    })
}

fn operations<O: std::fmt::Debug>(op: impl Strategy<Value = O>) -> impl Strategy<Value = Vec<Operation<O>>> {
    let operation =
        (op, span()).prop_map(|(op, (invoked, span))| Operation { call: call(0), op, invoked, span });
    prop::collection::vec(operation, 0..7)
}

fn token() -> impl Strategy<Value = Option<Token>> {
    (0..4_u64).prop_map(|zxid| (zxid > 0).then_some(Token(zxid, 0)))
}

fn lock_op() -> impl Strategy<Value = LockOp> {
    let acquire = (0..2_u64, token()).prop_map(|(who, token)| LockOp::Acquire { who: call(who), token });
    prop_oneof![acquire, (0..2_u64).prop_map(|who| LockOp::Release { who: call(who) })]
}

fn read_write_op() -> impl Strategy<Value = ReadWriteOp> {
    use ReadWriteOp::{EndRead, EndWrite, Read, Write};
    prop::sample::select(vec![Read, EndRead, Write, EndWrite])
}

fn permits_op() -> impl Strategy<Value = PermitsOp> {
    prop_oneof![(1..3_u32).prop_map(PermitsOp::Acquire), (1..3_u32).prop_map(PermitsOp::Release)]
}

fn register_op() -> impl Strategy<Value = RegisterOp> {
    let outcome = prop::sample::select(vec![Outcome::Applied, Outcome::Refused, Outcome::Unknown]);
    let write = (token(), 0..4_u64, outcome).prop_map(|(token, value, outcome)| RegisterOp::Write {
        token,
        value,
        outcome,
    });
    prop_oneof![write, (0..4_u64).prop_map(RegisterOp::Read)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn mutexes_are_judged_as_by_brute_force(operations in operations(lock_op())) {
        prop_assert_eq!(is_accepted(&Mutex, &operations), brute_force(&Mutex, &operations));
        prop_assert_eq!(is_accepted(&Fenced, &operations), brute_force(&Fenced, &operations));
        prop_assert_eq!(is_accepted(&Reentrant, &operations), brute_force(&Reentrant, &operations));
    }

    #[test]
    fn read_write_locks_are_judged_as_by_brute_force(operations in operations(read_write_op())) {
        prop_assert_eq!(is_accepted(&ReadWrite, &operations), brute_force(&ReadWrite, &operations));
    }

    #[test]
    fn semaphores_are_judged_as_by_brute_force(operations in operations(permits_op())) {
        prop_assert_eq!(is_accepted(&Permits(3), &operations), brute_force(&Permits(3), &operations));
    }

    #[test]
    fn registers_are_judged_as_by_brute_force(operations in operations(register_op())) {
        prop_assert_eq!(is_accepted(&FencedRegister, &operations), brute_force(&FencedRegister, &operations));
    }
}

/// Picks the operations that the model allows one after the other, and gives each a time around its moment.
fn sequential<M: Model>(model: &M, ops: Vec<(M::Op, u64, u64)>) -> (Vec<Operation<M::Op>>, M::State) {
    let mut state = model.initial();
    let mut operations = Vec::new();
    for (op, before, after) in ops {
        if let Some(next) = model.step(&state, &op) {
            state = next;
            let moment = 100 + 10 * operations.len() as u64;
            let span = Span::Certain { returned: moment + after };
            operations.push(Operation { call: call(0), op, invoked: moment - before, span });
        }
    }
    (operations, state)
}

fn long<O: std::fmt::Debug>(op: impl Strategy<Value = O>) -> impl Strategy<Value = Vec<(O, u64, u64)>> {
    prop::collection::vec((op, 0..35_u64, 0..35_u64), 0..120)
}

/// Checks that a sequential execution is accepted, and that the model tells the state after it, if it tells one.
fn explains<M: Model>(model: &M, ops: Vec<(M::Op, u64, u64)>) -> Result<(), TestCaseError> {
    let (operations, state) = sequential(model, ops);
    prop_assert!(is_accepted(model, &operations));
    if let Some(after) = model.after(&operations) {
        prop_assert_eq!(after, state);
    }
    Ok(())
}

fn rising() -> impl Strategy<Value = LockOp> {
    let acquire = (0..3_u64, 1..200_u64)
        .prop_map(|(who, zxid)| LockOp::Acquire { who: call(who), token: Some(Token(zxid, 0)) });
    prop_oneof![acquire, (0..3_u64).prop_map(|who| LockOp::Release { who: call(who) })]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn sequential_executions_with_overlapping_times_are_accepted(
        lock in long(lock_op()),
        fenced in long(rising()),
        read_write in long(read_write_op()),
        permits in long(permits_op()),
        register in long(register_op()),
    ) {
        explains(&Mutex, lock.clone())?;
        explains(&Reentrant, lock)?;
        explains(&Fenced, fenced)?;
        explains(&ReadWrite, read_write)?;
        explains(&Permits(3), permits)?;
        explains(&FencedRegister, register)?;
    }

    #[test]
    fn windows_change_no_verdict(operations in operations(register_op()), gap in 31..60_u64) {
        // The same operations twice, the second time after a pause.
        let later = operations.iter().cloned().map(|mut operation| {
            operation.invoked += gap + 15;
            operation.span = match operation.span {
                Span::Certain { returned } => Span::Certain { returned: returned + gap + 15 },
                Span::Uncertain { until } => Span::Uncertain { until: until.map(|until| until + gap + 15) },
            };
            operation
        });
        let twice: Vec<_> = operations.iter().cloned().chain(later).take(8).collect();
        prop_assert_eq!(is_accepted(&FencedRegister, &twice), brute_force(&FencedRegister, &twice));
    }
}

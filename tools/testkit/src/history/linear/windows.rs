//! The windows of a long history, and the check of all of them.

use super::model::Model;
use super::operation::Operation;
use super::search::{Found, search};

/// The result of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The number of operations.
    pub operations: usize,
    /// The number of windows.
    pub windows: usize,
    /// The windows that were not checked, because they had too many configurations, or because the state at their
    /// beginning is unknown after such a window.
    pub unchecked: Vec<Unchecked>,
    /// The first operation for which there is no order.
    pub failure: Option<Failure>,
}

/// A window that was not checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unchecked {
    /// The number of operations in it.
    pub operations: usize,
    /// The time of its beginning.
    pub from: u64,
}

/// A proof that there is no order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The longest order that explains operations of the window before the one that is stuck, as indices. All earlier
    /// windows are explained.
    pub explained: Vec<usize>,
    /// The index of the operation that cannot be placed: the first at whose end there is no order.
    pub stuck: usize,
}

/// Checks operations against a model.
///
/// `limit` is the number of configurations that may be looked at for the end of one operation. A window that needs more
/// is not checked, and the report says so.
pub fn check<M: Model>(model: &M, operations: &[Operation<M::Op>], limit: usize) -> Report {
    let windows = windows(operations);
    let mut report = Report { operations: operations.len(), windows: windows.len(), ..Report::default() };
    let mut states = vec![model.initial()];
    let mut before: Vec<Operation<M::Op>> = Vec::new();
    for window in windows {
        before.extend(window.iter().map(|index| operations[*index].clone()));
        // An unknown state has no configurations, and neither has a window without a limit.
        let found = if states.is_empty() {
            Found::TooMany
        } else {
            search(model, operations, &window, &states, limit)
        };
        match found {
            Found::Orders(ends) => states = ends,
            Found::Stuck { explained, stuck } => {
                report.failure = Some(Failure { explained, stuck });
                return report;
            }
            Found::TooMany => {
                let from = operations[window[0]].invoked;
                report.unchecked.push(Unchecked { operations: window.len(), from });
                states = model.after(&before).into_iter().collect();
            }
        }
    }
    report
}

/// Cuts operations into windows, as indices: at each time at which none of them is under way.
///
/// An operation that may take effect at any later time is under way until the end.
pub fn windows<O>(operations: &[Operation<O>]) -> Vec<Vec<usize>> {
    let mut indices: Vec<_> = (0..operations.len()).collect();
    indices.sort_by_key(|index| operations[*index].invoked);
    let mut windows: Vec<Vec<usize>> = Vec::new();
    let mut quiet = None;
    for index in indices {
        let operation = &operations[index];
        let last = operation.last().unwrap_or(u64::MAX);
        match windows.last_mut().filter(|_| quiet.is_some_and(|quiet| operation.invoked <= quiet)) {
            Some(window) => window.push(index),
            None => windows.push(vec![index]),
        }
        quiet = quiet.max(Some(last));
    }
    windows
}

#[cfg(test)]
mod tests {
    use super::super::super::access::Outcome;
    use super::super::super::event::Token;
    use super::super::super::source::{CallId, Process};
    use super::super::model::{LockOp, Mutex, Permits, PermitsOp, ReadWrite, ReadWriteOp};
    use super::super::operation::Span;
    use super::super::register::{FencedRegister, RegisterOp};
    use super::*;

    fn call(number: u64) -> CallId {
        CallId { process: Process { number: 1, incarnation: 0 }, task: 0, call: number }
    }

    fn certain<O>(op: O, invoked: u64, returned: u64) -> Operation<O> {
        Operation { call: call(0), op, invoked, span: Span::Certain { returned } }
    }

    fn hold(who: u64, [asked, granted, began, ended]: [u64; 4]) -> [Operation<LockOp>; 2] {
        let who = call(who);
        [
            certain(LockOp::Acquire { who, token: None }, asked, granted),
            certain(LockOp::Release { who }, began, ended),
        ]
    }

    #[test]
    fn a_history_is_cut_where_nothing_is_under_way() {
        let times = |times: &[(u64, u64)]| {
            let operations: Vec<_> = times.iter().map(|(from, to)| certain((), *from, *to)).collect();
            windows(&operations)
        };
        assert_eq!(times(&[]), Vec::<Vec<usize>>::new());
        assert_eq!(times(&[(0, 5), (6, 9)]), [[0], [1]]);
        assert_eq!(times(&[(0, 5), (5, 9)]), [[0, 1]]);
        assert_eq!(times(&[(6, 9), (0, 20), (10, 11), (21, 22)]), [vec![1, 0, 2], vec![3]]);
        let mut uncertain = certain((), 3, 0);
        uncertain.span = Span::Uncertain { until: None };
        assert_eq!(windows(&[certain((), 0, 1), uncertain, certain((), 50, 51)]), [vec![0], vec![1, 2]]);
    }

    #[test]
    fn the_longest_prefix_and_the_operation_that_cannot_be_placed_are_named() {
        let holds = [hold(1, [0, 2, 10, 12]), hold(2, [5, 11, 20, 21]), hold(3, [6, 15, 30, 31])].concat();
        let report = check(&Mutex, &holds, 100);
        // The third hold begins within the second one. The first acquisition is a window of its own.
        let failure = report.failure.unwrap();
        assert_eq!((failure.explained, failure.stuck), (vec![1, 2], 4));
    }

    #[test]
    fn the_state_at_a_cut_is_kept() {
        let overlap = [hold(1, [0, 2, 30, 31]), hold(2, [10, 11, 20, 21])].concat();
        let report = check(&Mutex, &overlap, 100);
        assert_eq!((report.windows, report.failure.unwrap().stuck), (4, 2));
    }

    #[test]
    fn a_window_that_is_too_large_is_counted_and_those_behind_it_are_checked() {
        // Twelve calls come and go together with different numbers of permits: their orders need too many configurations.
        let crowd = (1..=12).flat_map(|n| {
            let end = 20 + u64::from(n);
            [certain(PermitsOp::Acquire(n), 0, end), certain(PermitsOp::Release(n), 50, 90)]
        });
        let all = [certain(PermitsOp::Acquire(100), 100, 101), certain(PermitsOp::Acquire(1), 110, 111)];
        let operations: Vec<_> = crowd.chain(all).collect();
        let report = check(&Permits(100), &operations, 1_000);
        assert_eq!(report.unchecked[0], Unchecked { operations: 12, from: 0 });
        assert_eq!(report.failure.unwrap().stuck, 25);
        assert!(check(&Permits(100), &operations[..25], 1_000).failure.is_none());
        assert_eq!(check(&Permits(100), &operations, 1_000_000).unchecked, []);
    }

    #[test]
    fn equal_operations_that_are_many_at_one_time_need_few_configurations() {
        let crowd = |write| {
            let readers = (0..60).flat_map(|reader| {
                [certain(ReadWriteOp::Read, 0, 20 + reader), certain(ReadWriteOp::EndRead, 90, 200 + reader)]
            });
            let write = [certain(ReadWriteOp::Write, write, write + 1)];
            check(&ReadWrite, &readers.chain(write).collect::<Vec<_>>(), 10_000)
        };
        assert_eq!((crowd(260).failure, crowd(260).unchecked), (None, vec![]));
        assert_eq!(
            crowd(199).failure.map(|failure| failure.stuck),
            None,
            "all readers may have ended by then"
        );
        assert_eq!(crowd(85).failure.map(|failure| failure.stuck), Some(120));
    }

    #[test]
    fn windows_behind_an_unknown_state_are_not_checked() {
        let write = |token, value| {
            let token = Some(Token(token, 0));
            RegisterOp::Write { token, value, outcome: Outcome::Applied }
        };
        // Two writes with one token have any order, and the limit is too small for both.
        let operations = [
            certain(write(1, 1), 0, 9),
            certain(write(1, 2), 0, 9),
            certain(RegisterOp::Read(7), 20, 21),
            certain(write(2, 3), 30, 31),
            certain(RegisterOp::Read(7), 40, 41),
        ];
        let report = check(&FencedRegister, &operations, 2);
        let unchecked: Vec<_> = report.unchecked.iter().map(|it| (it.operations, it.from)).collect();
        assert_eq!(unchecked, [(2, 0), (1, 20), (1, 30)]);
        assert_eq!(report.failure.unwrap().stuck, 4);
        assert_eq!(check(&FencedRegister, &operations, 100).failure.unwrap().stuck, 2);
    }

    #[test]
    fn an_uncertain_operation_may_take_effect_late_or_never_but_not_after_its_time() {
        let unknown = |until| Operation {
            span: Span::Uncertain { until },
            ..certain(
                RegisterOp::Write { token: Some(Token(1, 0)), value: 5, outcome: Outcome::Unknown },
                0,
                0,
            )
        };
        let read = |value, at| certain(RegisterOp::Read(value), at, at);
        let is_right = |operations: &[_]| check(&FencedRegister, operations, 100).failure.is_none();
        assert!(is_right(&[unknown(None), read(1, 10), read(1, 20)]));
        assert!(is_right(&[unknown(None), read(1, 10), read(5, 20)]));
        assert!(!is_right(&[unknown(None), read(1, 10), read(5, 20), read(1, 30)]));
        assert!(is_right(&[unknown(Some(10)), read(1, 10), read(5, 20)]));
        assert!(!is_right(&[unknown(Some(9)), read(1, 10), read(5, 20)]));
    }
}

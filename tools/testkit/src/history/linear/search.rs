//! The search for an order of the operations of one window.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use super::model::Model;
use super::operation::{Operation, Span};

/// The result of a search.
pub(super) enum Found<S> {
    /// There are orders, which end in these states.
    Orders(Vec<S>),
    /// There is no order. The operations explain themselves up to the end of the one that is stuck.
    Stuck {
        /// The longest order of operations in front of it.
        explained: Vec<usize>,
        /// The first operation at whose end there is no order.
        stuck: usize,
    },
    /// There are more configurations than allowed.
    TooMany,
}

/// Searches for the orders of the operations with these indices, from one of these states on.
///
/// `limit` bounds the configurations that are looked at for the end of one operation.
pub(super) fn search<M: Model>(
    model: &M,
    operations: &[Operation<M::Op>],
    window: &[usize],
    states: &[M::State],
    limit: usize,
) -> Found<M::State> {
    let begin = |state: &M::State| (Configuration { state: state.clone(), done: Vec::new() }, None);
    let mut search = Search {
        model,
        operations,
        limit,
        open: Vec::new(),
        configurations: states.iter().map(begin).collect(),
    };
    for moment in moments(operations, window) {
        let index = match moment {
            Moment::Begin(index) => {
                search.open.push(index);
                continue;
            }
            Moment::End(index) => index,
        };
        let Some(reached) = search.expand(index) else { return Found::TooMany };
        if reached.is_empty() {
            return Found::Stuck { explained: search.longest(), stuck: index };
        }
        search.configurations = reached;
        search.open.retain(|open| *open != index);
    }
    let states: HashSet<_> = search.configurations.into_keys().map(|it| it.state).collect();
    Found::Orders(states.into_iter().collect())
}

/// A beginning or an end of an operation.
enum Moment {
    Begin(usize),
    End(usize),
}

/// Beginnings come before ends at the same time, so that such operations have any order.
fn moments<O>(operations: &[Operation<O>], window: &[usize]) -> Vec<Moment> {
    let begins = window.iter().map(|index| (operations[*index].invoked, 0, *index));
    let ends = window.iter().filter_map(|index| Some((operations[*index].last()?, 1, *index)));
    let mut moments: Vec<_> = begins.chain(ends).collect();
    moments.sort_unstable();
    let moment = |(_, end, index)| if end == 0 { Moment::Begin(index) } else { Moment::End(index) };
    moments.into_iter().map(moment).collect()
}

/// A state, and the operations that have taken effect and not ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Configuration<S> {
    state: S,
    /// In ascending order.
    done: Vec<usize>,
}

/// The operations that led to a configuration, the last one first.
type Path = Option<Rc<Step>>;

struct Step {
    index: usize,
    before: Path,
}

impl Drop for Step {
    /// Drops a long path without recursion.
    fn drop(&mut self) {
        let mut next = self.before.take();
        while let Some(mut step) = next.and_then(Rc::into_inner) {
            next = step.before.take();
        }
    }
}

type Configurations<S> = HashMap<Configuration<S>, Path>;

struct Search<'a, M: Model> {
    model: &'a M,
    operations: &'a [Operation<M::Op>],
    limit: usize,
    /// The operations that have begun and not ended.
    open: Vec<usize>,
    configurations: Configurations<M::State>,
}

impl<M: Model> Search<'_, M> {
    /// Returns the configurations at the end of an operation: those in which it has taken effect, and for one that may
    /// not have taken effect also those in which it has not. Returns `None` if there are too many.
    fn expand(&self, ending: usize) -> Option<Configurations<M::State>> {
        let must = matches!(self.operations[ending].span, Span::Certain { .. });
        let (mut seen, mut reached) = (self.configurations.clone(), Configurations::new());
        let mut left: Vec<_> = seen.iter().map(|(it, path)| (it.clone(), path.clone())).collect();
        while let Some((configuration, path)) = left.pop() {
            if let Ok(at) = configuration.done.binary_search(&ending) {
                let mut configuration = configuration;
                configuration.done.remove(at);
                reached.entry(configuration).or_insert(path);
                continue;
            }
            for (next, path) in self.successors(&configuration, &path) {
                if !seen.contains_key(&next) {
                    seen.insert(next.clone(), path.clone());
                    left.push((next, path));
                }
            }
            if seen.len() > self.limit {
                return None;
            }
        }
        if !must {
            let without = self.configurations.iter().filter(|(it, _)| !it.done.contains(&ending));
            reached.extend(without.map(|(it, path)| (it.clone(), path.clone())));
        }
        Some(reached)
    }

    /// Returns the configurations after one more open operation has taken effect.
    ///
    /// Of several equal operations, the one that ends first takes effect first. If there is an order in which another one
    /// does, exchanging the two gives one as well.
    fn successors(
        &self,
        from: &Configuration<M::State>,
        path: &Path,
    ) -> impl Iterator<Item = (Configuration<M::State>, Path)> {
        self.open.iter().filter_map(move |index| {
            let Err(place) = from.done.binary_search(index) else { return None };
            if self.has_earlier_equal(*index, from) {
                return None;
            }
            let state = self.model.step(&from.state, &self.operations[*index].op)?;
            let mut done = from.done.clone();
            done.insert(place, *index);
            let step = Step { index: *index, before: path.clone() };
            Some((Configuration { state, done }, Some(Rc::new(step))))
        })
    }

    /// Returns whether an equal open operation that has not taken effect ends before this one.
    fn has_earlier_equal(&self, index: usize, from: &Configuration<M::State>) -> bool {
        let end = |index: usize| (self.operations[index].last().unwrap_or(u64::MAX), index);
        self.open.iter().any(|other| {
            end(*other) < end(index)
                && self.operations[*other].op == self.operations[index].op
                && self.operations[*other].is_certain() == self.operations[index].is_certain()
                && from.done.binary_search(other).is_err()
        })
    }

    /// Returns the longest order of the open operations behind those of the configurations. An operation that is stuck
    /// is in none of them.
    fn longest(&self) -> Vec<usize> {
        let mut seen = self.configurations.clone();
        let mut left: Vec<_> = seen.iter().map(|(it, path)| (it.clone(), path.clone())).collect();
        let mut longest = Vec::new();
        while let Some((configuration, path)) = left.pop() {
            let order = order(&path);
            if order.len() > longest.len() {
                longest = order;
            }
            for (next, path) in self.successors(&configuration, &path) {
                if !seen.contains_key(&next) && seen.len() < self.limit {
                    seen.insert(next.clone(), path.clone());
                    left.push((next, path));
                }
            }
        }
        longest
    }
}

fn order(path: &Path) -> Vec<usize> {
    let mut order = Vec::new();
    let mut step = path.as_ref();
    while let Some(at) = step {
        order.push(at.index);
        step = at.before.as_ref();
    }
    order.reverse();
    order
}

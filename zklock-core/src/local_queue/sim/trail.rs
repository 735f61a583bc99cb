//! The steps that led to a state, for the message of a failure.

use std::fmt::Debug;
use std::rc::Rc;

#[derive(Clone)]
pub(super) struct Trail<S>(Option<Rc<(S, Self)>>);

impl<S: Copy> Trail<S> {
    pub(super) fn push(&mut self, step: S) {
        *self = Self(Some(Rc::new((step, std::mem::take(self)))));
    }

    fn steps(&self) -> Vec<S> {
        let mut steps = Vec::new();
        let mut rest = self;
        while let Some(last) = &rest.0 {
            steps.push(last.0);
            rest = &last.1;
        }
        steps.reverse();
        steps
    }
}

impl<S> Default for Trail<S> {
    fn default() -> Self {
        Self(None)
    }
}

/// Prints the steps if the test fails meanwhile.
pub(super) struct Told<S: Copy + Debug>(pub(super) Trail<S>);

impl<S: Copy + Debug> Drop for Told<S> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("after {:?}", self.0.steps());
        }
    }
}

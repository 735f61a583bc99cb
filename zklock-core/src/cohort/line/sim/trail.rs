//! The steps that led to a state, for the message of a failure.

use std::rc::Rc;

use super::step::Step;

#[derive(Clone, Default)]
pub(super) struct Trail(Option<Rc<(Step, Self)>>);

impl Trail {
    pub(super) fn push(&mut self, step: Step) {
        *self = Self(Some(Rc::new((step, std::mem::take(self)))));
    }

    fn steps(&self) -> Vec<Step> {
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

/// Prints the steps if the test fails meanwhile.
pub(super) struct Told(pub(super) Trail);

impl Drop for Told {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("after {:?}", self.0.steps());
        }
    }
}

//! The term as that of the calls below it.

use std::pin::Pin;
use std::sync::Arc;

use crate::client::worker::Worker;
use crate::error::{LockError, LossReason};
use crate::events::{HoldSpan, Subject};
use crate::hold::{self, Leading};
use crate::lease::Share;
use crate::mode::Mode;

use super::Leadership;

impl Leading for Leadership {
    fn share(&self) -> &Arc<Share> {
        &self.term.share
    }

    fn worker(&self) -> &Arc<Worker> {
        &self.term.worker
    }

    fn check(&self) -> Result<(), LockError> {
        Self::check(self)
    }

    fn over(&self) -> Pin<Box<dyn Future<Output = LossReason> + Send + '_>> {
        Box::pin(self.lost())
    }
}

impl Leadership {
    /// Opens the span of a body, as a child of the present one, if a subscriber wants it.
    pub(super) fn span(&self) -> Option<HoldSpan> {
        let (path, label) = (self.term.share.tenure().path(), &self.term.label);
        HoldSpan::begin(&Subject { path, label, mode: Mode::Leader, group: None }, self.fencing_token())
    }

    /// Returns whether the present call is inside of a body under this term.
    pub(in crate::leader) fn is_around(&self) -> bool {
        hold::is_in_term(&self.term.share)
    }

    /// Runs a future that finds this term as the innermost one.
    pub(super) fn scope<F: Future>(&self, future: F) -> impl Future<Output = F::Output> + use<F> {
        hold::scope_in_term(Arc::new(self.clone()), future)
    }

    /// Calls a function that finds this term as the innermost one.
    pub(super) fn scope_blocking<T>(&self, function: impl FnOnce() -> T) -> T {
        hold::scope_blocking_in_term(Arc::new(self.clone()), function)
    }
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;

    use tokio::sync::oneshot;

    use crate::client::connected;
    use crate::inherit;

    use super::*;

    /// Runs under the term, spawns its successor inside of it, and reports the longest scope.
    fn generation(
        term: Leadership,
        parent: oneshot::Receiver<()>,
        (left, longest): (u32, usize),
        done: oneshot::Sender<usize>,
    ) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(async move {
            parent.await.unwrap();
            let (tell, told) = oneshot::channel();
            let next = term.clone();
            let inside = async move {
                let longest = longest.max(hold::length());
                match left {
                    0 => done.send(longest).unwrap(),
                    _ => drop(tokio::spawn(inherit(generation(next, told, (left - 1, longest), done)))),
                }
            };
            term.run(inside).await.unwrap();
            tell.send(()).ok();
        })
    }

    #[tokio::test]
    async fn a_leaders_function_that_spawns_itself_has_a_short_scope() {
        let (_server, client) = connected().await;
        let leader = client.leader("/a").unwrap();
        let term = leader.leadership().await.unwrap();
        let ((tell, told), (done, longest)) = (oneshot::channel(), oneshot::channel());
        tell.send(()).unwrap();
        tokio::spawn(generation(term, told, (1_000, 0), done));
        let longest = longest.await.unwrap();
        assert!(longest <= 20, "{longest} terms, of which one is not over");
    }
}

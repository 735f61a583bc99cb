//! A reply that is lost on purpose.

use zklock_testkit::Rule;

use super::waiting::until_some;

/// A reply that will be lost, or has been. See [`TestServer::drop_reply`](super::TestServer::drop_reply).
#[derive(Debug)]
#[must_use = "a test that does not ask whether the reply was lost may have tested nothing"]
pub struct DroppedReply {
    rule: Rule,
}

impl DroppedReply {
    pub(super) fn new(rule: Rule) -> Self {
        Self { rule }
    }

    /// Waits until the reply is lost: the server has created the node, and the client cannot know it.
    ///
    /// # Panics
    ///
    /// Panics if the reply is not lost within 10 s.
    pub async fn happened(&self) {
        let look = || (self.rule.hits() > 0).then_some(());
        until_some(look, || "the client created a node whose reply could be lost".to_owned()).await;
    }
}

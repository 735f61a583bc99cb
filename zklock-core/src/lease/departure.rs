//! The end of a lease at the servers.

use super::stage::Stage;
use super::tenure::Tenure;

impl Tenure {
    /// Takes note that the node is about to be deleted.
    pub(super) fn begin_departure(&self) {
        self.advance(Stage::Begun);
        self.session.dismiss(self.key);
    }

    /// Takes note that the node is gone, or that nobody will delete it any more.
    pub(super) fn end_departure(&self) {
        self.advance(Stage::Over);
        self.session.dismiss(self.key);
    }

    pub(super) fn is_departing(&self) -> bool {
        self.departure.is_at(Stage::Begun)
    }

    /// Waits until the release has begun.
    pub(super) async fn until_departing(&self) {
        self.until(Stage::Begun).await;
    }

    /// Waits until the release is over.
    pub(super) async fn until_departed(&self) {
        self.until(Stage::Over).await;
    }

    fn advance(&self, stage: Stage) {
        self.departure.advance(stage);
        self.changed.notify();
    }

    async fn until(&self, stage: Stage) {
        self.changed.until(|| self.departure.is_at(stage).then_some(())).await;
    }
}

//! One survey after another, with a pause in between.
//!
//! Uses the floor below: `arguments`.

use std::time::Duration;

use tokio::time::{Instant, sleep};
use zklock::{Client, LockError, Survey, Surveyed};

use crate::arguments::Watch;

/// Surveys the locks below a path again and again. The servers rest for at least as long as they were busy.
#[derive(Debug)]
pub(crate) struct Looks {
    survey: Survey,
    interval: Duration,
    pause: Duration,
}

impl Looks {
    pub(crate) fn new(client: &Client, options: &Watch) -> Result<Self, LockError> {
        let survey = client.survey(&options.path)?.nodes(options.bounds.nodes).depth(options.bounds.depth);
        let survey = survey.participants(options.most);
        Ok(Self { survey, interval: options.interval, pause: Duration::ZERO })
    }

    /// Takes the next survey, after a pause. The first one is taken at once.
    pub(crate) async fn next(&mut self) -> Result<Surveyed, LockError> {
        sleep(self.pause).await;
        let began = Instant::now();
        let surveyed = self.survey.take().await;
        self.pause = self.interval.max(began.elapsed());
        surveyed
    }
}

/// Tells whether another question may have an answer.
pub(crate) fn is_passing(error: &LockError) -> bool {
    matches!(error, LockError::Timeout { .. } | LockError::OutcomeUnknown { .. })
}

//! The bound on the answer to each question.

use std::fmt::Display;
use std::time::Duration;

use tokio::time::timeout;

/// A question to a server, which must answer in time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Question {
    pub(super) within: Duration,
}

impl Question {
    /// Asks, and returns the reason if there is no answer.
    pub(super) async fn ask<T, E: Display>(
        self,
        answer: impl Future<Output = Result<T, E>>,
    ) -> Result<T, String> {
        match timeout(self.within, answer).await {
            Ok(answer) => answer.map_err(|error| error.to_string()),
            Err(_) => Err("no answer in time".to_owned()),
        }
    }
}

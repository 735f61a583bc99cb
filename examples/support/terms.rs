//! A check that replicas worked in terms that follow one another.

use std::fmt;

use crate::setting::Failure;

/// The latest term in which work was done.
pub(crate) struct Terms<R> {
    latest: Option<(R, u128)>,
}

impl<R: Clone + fmt::Display + PartialEq> Terms<R> {
    pub(crate) fn new() -> Self {
        Self { latest: None }
    }

    /// Notes that a replica worked with the fencing token of its term, after all work that was noted before.
    ///
    /// A term has one replica and one token, and its token is greater than that of the term before. Work in a
    /// term that was already over is an error.
    pub(crate) fn note(&mut self, replica: &R, token: u128) -> Result<(), Failure> {
        if let Some((leader, latest)) = &self.latest {
            let goes_on = token == *latest && replica == leader;
            if !goes_on && token <= *latest {
                let after = format!("after replica {leader} did with {latest}");
                return Err(format!("replica {replica} worked with token {token} {after}").into());
            }
        }
        self.latest = Some((replica.clone(), token));
        Ok(())
    }
}

//! What the code that `#[leader_only]` generates calls.

use std::borrow::Cow;
use std::future::Future;

use zklock_core::{Client, Leader, Leadership, LockError};

use super::{Path, about};

/// A return type that has a value for a replica that does not lead, or whose turn it is not.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no value for a replica that does not run the body",
    label = "no value to return where this replica does not lead, or the period has already begun",
    note = "return `()`, `Option<_>`, `Result<(), E>` or `Result<Option<_>, E>`",
    note = "to do something else where this replica does not lead: `otherwise = wait`, `otherwise = error`, or a value"
)]
pub trait OnSkip {
    /// The value.
    fn skipped() -> Self;
}

#[diagnostic::do_not_recommend]
impl OnSkip for () {
    fn skipped() -> Self {}
}

#[diagnostic::do_not_recommend]
impl<T> OnSkip for Option<T> {
    fn skipped() -> Self {
        None
    }
}

#[diagnostic::do_not_recommend]
impl<T: OnSkip, E> OnSkip for Result<T, E> {
    fn skipped() -> Self {
        Ok(T::skipped())
    }
}

/// A return type that the loss of leadership can leave an annotated function by.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no value for a replica that loses leadership",
    label = "no value to return when leadership is lost",
    note = "return `Result<_, E>` where `E: From<zklock::LockError>`, `()` or `Option<_>`"
)]
pub trait OnFailure {
    /// Turns what went wrong into the function's result.
    fn failed(error: LockError) -> Self;
}

#[diagnostic::do_not_recommend]
impl OnFailure for () {
    fn failed(error: LockError) -> Self {
        warn(&error);
    }
}

#[diagnostic::do_not_recommend]
impl<T> OnFailure for Option<T> {
    fn failed(error: LockError) -> Self {
        warn(&error);
        None
    }
}

#[diagnostic::do_not_recommend]
impl<T, E: From<LockError>> OnFailure for Result<T, E> {
    fn failed(error: LockError) -> Self {
        Err(error.into())
    }
}

/// Those whose type has no place for the error would not learn of it otherwise.
fn warn(error: &LockError) {
    tracing::warn!(%error, "a function under `#[leader_only]` failed");
}

/// What the election says about this replica.
#[derive(Debug)]
pub enum Answer {
    /// It leads.
    Leads(Term),
    /// It does not.
    Follows(Follower),
    /// It cannot run.
    Failed(LockError),
}

/// A replica that does not lead at a path; most have no use for the error that says so.
#[derive(Debug)]
pub struct Follower(Cow<'static, str>);

impl Follower {
    /// What the call of a replica ends with that has nothing else to do.
    pub fn error(self) -> LockError {
        LockError::NotLeader { path: self.0.into_owned() }
    }
}

/// A term that keeps its client alive.
#[derive(Debug)]
pub struct Term {
    leadership: Leadership,
    _leader: Leader,
}

impl Term {
    /// The leadership that the body sees.
    pub fn leadership(&self) -> &Leadership {
        &self.leadership
    }
}

/// Asks whether this replica leads, from memory but for the first time.
pub async fn ask_to_lead(client: Result<Client, LockError>, path: Path) -> Answer {
    let (leader, path) = match candidate(client, path) {
        Ok(candidate) => candidate,
        Err(error) => return Answer::Failed(error),
    };
    match leader.term().await {
        Ok(Some(leadership)) => Answer::Leads(Term { leadership, _leader: leader }),
        Ok(None) => Answer::Follows(Follower(path)),
        Err(error) => Answer::Failed(error),
    }
}

/// Waits until this replica leads.
pub async fn wait_to_lead(client: Result<Client, LockError>, path: Path) -> Result<Term, LockError> {
    let (leader, _) = candidate(client, path)?;
    Ok(Term { leadership: leader.leadership().await?, _leader: leader })
}

fn candidate(
    client: Result<Client, LockError>,
    path: Path,
) -> Result<(Leader, Cow<'static, str>), LockError> {
    let path = path?;
    let leader = client.map_err(|error| about(error, &path))?.leader(&path)?;
    Ok((leader, path))
}

/// Runs the body of an annotated function under its term, and drops it if leadership is lost.
pub fn lead<F: Future>(
    term: &Term,
    body: F,
) -> impl Future<Output = Result<F::Output, LockError>> + use<'_, F> {
    term.leadership.run(body)
}

/// Runs the body of an annotated function under its term, to its end.
pub fn lead_to_end<F: Future>(
    term: &Term,
    body: F,
) -> impl Future<Output = Result<F::Output, LockError>> + use<'_, F> {
    term.leadership.run_to_end(body)
}

//! Paths with the names of their locks in events and metrics.

use std::borrow::Cow;
use std::ops::Deref;

use zklock_core::LockError;

/// The path of a lock, and the name of the lock in events and metrics.
#[derive(Clone, Debug)]
pub struct LockPath {
    path: Cow<'static, str>,
    label: Option<&'static str>,
}

impl LockPath {
    pub(super) fn new(path: Cow<'static, str>, label: &'static str) -> Self {
        Self { path, label: Some(label) }
    }

    pub(super) fn label(&self) -> &'static str {
        self.label.unwrap_or("unnamed")
    }

    pub(super) fn into_path(self) -> Cow<'static, str> {
        self.path
    }
}

impl Deref for LockPath {
    type Target = str;

    fn deref(&self) -> &str {
        &self.path
    }
}

impl<P: Into<Cow<'static, str>>> From<P> for LockPath {
    fn from(path: P) -> Self {
        Self { path: path.into(), label: None }
    }
}

/// One path, or the paths of several locks, which get the name that the attribute has.
pub trait Labelled {
    /// Replaces the name.
    #[must_use]
    fn labelled(self, label: &'static str) -> Self;
}

impl Labelled for Result<LockPath, LockError> {
    fn labelled(self, label: &'static str) -> Self {
        self.map(|path| LockPath { label: Some(label), ..path })
    }
}

impl<const N: usize> Labelled for [Result<LockPath, LockError>; N] {
    fn labelled(self, label: &'static str) -> Self {
        self.map(|path| path.labelled(label))
    }
}

impl Labelled for Vec<Result<LockPath, LockError>> {
    fn labelled(self, label: &'static str) -> Self {
        self.into_iter().map(|path| path.labelled(label)).collect()
    }
}

/// Gives locks the name that the attribute has.
pub fn named<P: Labelled>(paths: P, label: &'static str) -> P {
    paths.labelled(label)
}

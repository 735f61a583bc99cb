//! Paths with the names of their locks in events and metrics.

use std::borrow::Cow;
use std::ops::Deref;

use zklock_core::{Client, LockError, ValidPath};

use super::site::Site;

/// The path of a lock, and the name of the lock in events and metrics.
#[derive(Clone, Debug)]
pub struct LockPath {
    path: Cow<'static, str>,
    label: Option<&'static str>,
    /// The call site of a constant path.
    site: Option<&'static Site>,
}

impl LockPath {
    pub(super) fn new(path: Cow<'static, str>, label: &'static str) -> Self {
        Self { path, label: Some(label), site: None }
    }

    pub(super) fn at(site: &'static Site) -> Self {
        Self { path: Cow::Borrowed(site.path()), label: Some(site.template()), site: Some(site) }
    }

    /// Returns the path below the namespace of this client.
    pub(super) fn below(&self, client: &Client) -> Result<Cow<'static, ValidPath>, LockError> {
        match self.site {
            Some(site) => site.below(client),
            None => client.valid_path(&self.path).map(Cow::Owned),
        }
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
        Self { path: path.into(), label: None, site: None }
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

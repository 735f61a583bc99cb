//! Paths with the names of their locks in events and metrics.

use std::borrow::Cow;
use std::ops::Deref;

use zklock_core::LockError;

use super::site::Site;

/// The path of a lock, and the name of the lock in events and metrics.
#[derive(Clone, Debug)]
pub struct LockPath {
    origin: Origin,
    label: Option<&'static str>,
}

/// The call site of a constant path, or the text of another one.
#[derive(Clone, Debug)]
enum Origin {
    Site(&'static Site),
    Text(Cow<'static, str>),
}

impl LockPath {
    pub(super) fn new(path: Cow<'static, str>, label: &'static str) -> Self {
        Self { origin: Origin::Text(path), label: Some(label) }
    }

    #[inline]
    pub(super) fn at(site: &'static Site) -> Self {
        Self { origin: Origin::Site(site), label: None }
    }

    pub(super) fn label(&self) -> &'static str {
        self.label.unwrap_or_else(|| match &self.origin {
            Origin::Site(site) => site.template(),
            Origin::Text(_) => "unnamed",
        })
    }

    pub(super) fn into_path(self) -> Cow<'static, str> {
        match self.origin {
            Origin::Site(site) => Cow::Borrowed(site.path()),
            Origin::Text(path) => path,
        }
    }
}

impl Deref for LockPath {
    type Target = str;

    #[inline]
    fn deref(&self) -> &str {
        match &self.origin {
            Origin::Site(site) => site.path(),
            Origin::Text(path) => path,
        }
    }
}

impl<P: Into<Cow<'static, str>>> From<P> for LockPath {
    fn from(path: P) -> Self {
        Self { origin: Origin::Text(path.into()), label: None }
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

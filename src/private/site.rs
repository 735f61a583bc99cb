//! The call sites of annotated functions with a constant path.

use std::borrow::Cow;

use once_cell::sync::OnceCell;
use zklock_core::{Client, LockError, ValidPath};

/// The call site of an annotated function with a constant path, which validates the path once.
#[derive(Debug)]
pub struct Site {
    /// The path as the attribute has it.
    template: &'static str,
    path: &'static str,
    /// The path below the namespace of the first client. It keeps no client alive.
    valid: OnceCell<ValidPath>,
}

impl Site {
    /// Describes a call site by the path as the attribute has it, and by the path that this stands for.
    pub const fn new(template: &'static str, path: &'static str) -> Self {
        Self { template, path, valid: OnceCell::new() }
    }

    pub(super) fn template(&self) -> &'static str {
        self.template
    }

    #[inline]
    pub(super) fn path(&self) -> &'static str {
        self.path
    }

    /// Returns the path below the namespace of this client. Clients with another namespace than the first one have the
    /// path validated for each call.
    pub(super) fn below(&'static self, client: &Client) -> Result<Cow<'static, ValidPath>, LockError> {
        let valid = self.valid.get_or_try_init(|| client.valid_path(self.path))?;
        match client.knows(valid) {
            true => Ok(Cow::Borrowed(valid)),
            false => client.valid_path(self.path).map(Cow::Owned),
        }
    }
}

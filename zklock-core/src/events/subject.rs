//! The lock or the election that a life, or a span, is about.

use std::borrow::Cow;

use crate::mode::Mode;
use crate::path::NodePath;

/// The lock or the election that a life, or a span, is about.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Subject<'a> {
    pub(crate) path: &'a NodePath,
    pub(crate) label: &'a Cow<'static, str>,
    pub(crate) mode: Mode,
    pub(crate) group: Option<u64>,
}

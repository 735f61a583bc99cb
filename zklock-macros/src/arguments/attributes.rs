//! The attributes of functions and of their arguments.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{Attribute, PatType};

/// Returns the attributes without which there may be no argument.
pub(super) fn conditions(attrs: &[Attribute]) -> TokenStream {
    attrs.iter().filter(|attr| attr.path().is_ident("cfg")).map(ToTokens::to_token_stream).collect()
}

/// Takes the levels of lints off an argument.
pub(super) fn lints(arg: &mut PatType) -> TokenStream {
    let is_lint = |attr: &Attribute| LINTS.iter().any(|level| attr.path().is_ident(level));
    let (lints, others): (Vec<_>, Vec<_>) = std::mem::take(&mut arg.attrs).into_iter().partition(is_lint);
    arg.attrs = others;
    quote!(#(#lints)*)
}

const LINTS: [&str; 5] = ["allow", "expect", "warn", "deny", "forbid"];

/// Tells whether an attribute is one of the compiler's that do not read the arguments of a function.
pub(super) fn is_inert(attr: &Attribute) -> bool {
    let path = attr.path();
    let is_tool = ["clippy", "diagnostic", "rustfmt"].iter().any(|tool| path.segments[0].ident == tool);
    is_tool || LINTS.iter().chain(&INERT).any(|name| path.is_ident(name))
}

const INERT: [&str; 12] = [
    "cfg",
    "cold",
    "deprecated",
    "doc",
    "export_name",
    "ignore",
    "inline",
    "must_use",
    "no_mangle",
    "should_panic",
    "target_feature",
    "track_caller",
];

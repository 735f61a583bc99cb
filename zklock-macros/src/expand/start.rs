//! Generates the statements of `once_per`, which both attributes share.

use proc_macro2::TokenStream;
use quote::quote_spanned;

use super::span::{mixed, output_span, private};
use crate::once::{Once, Starts};
use crate::shared::Krate;
use crate::target::Target;

/// Generates the statement that defines how often the body may start.
pub(super) fn once(once: Option<&Once>, starts: Starts<'_>, private: &TokenStream) -> Option<TokenStream> {
    let once = once?.expand(starts, private);
    Some(quote_spanned!(mixed()=> let __once = #once;))
}

/// Generates the expression that returns from a function whose period has already begun.
pub(super) fn later(target: &Target, krate: Option<&Krate>) -> TokenStream {
    let span = mixed().located_at(output_span(&target.output));
    let private = private(krate, span);
    quote_spanned!(span=> return #private::OnSkip::skipped())
}

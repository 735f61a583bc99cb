//! Generates the statements of `once_per`, which both attributes share.

use proc_macro2::TokenStream;
use quote::quote_spanned;
use syn::Result;

use super::span::mixed;
use crate::once::{Once, Starts};

/// Generates the statement that defines how often the body may start.
pub(super) fn once(
    once: Option<&Once>,
    starts: Starts<'_>,
    private: &TokenStream,
) -> Result<Option<TokenStream>> {
    let Some(once) = once else { return Ok(None) };
    let once = once.expand(starts, private)?;
    // A `_` in front of a name says that the body does not use it, but the tick may.
    Ok(Some(quote_spanned! {mixed()=>
        #[allow(clippy::used_underscore_binding)]
        let __once = #once;
    }))
}

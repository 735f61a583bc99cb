//! The spans of generated tokens, for the hygiene of names and the place of compile errors.

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{ToTokens, quote_spanned};
use syn::ReturnType;
use syn::spanned::Spanned;

use crate::shared::Krate;

/// Returns the span of generated names, which keeps them apart from the user's names.
pub(super) fn mixed() -> Span {
    Span::mixed_site()
}

/// Returns the span of the return type.
pub(super) fn output_span(output: &ReturnType) -> Span {
    match output {
        // A function without a return type offers no better place than the attribute.
        ReturnType::Default => Span::call_site(),
        ReturnType::Type(_, ty) => ty.span(),
    }
}

/// Generates the path of the facade's module that generated code calls, located at `span`.
pub(super) fn private(krate: Option<&Krate>, span: Span) -> TokenStream {
    let krate = match krate {
        Some(Krate(path)) => path.to_token_stream().into_iter().map(|token| located(token, span)).collect(),
        None => quote_spanned!(span=> ::zklock),
    };
    quote_spanned!(span=> #krate::__private)
}

fn located(mut token: TokenTree, span: Span) -> TokenTree {
    token.set_span(token.span().located_at(span));
    token
}

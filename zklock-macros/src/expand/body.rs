//! Generates the block that contains the user's body, in which `return` and `?` keep their meaning.

use proc_macro2::{TokenStream, TokenTree};
use quote::quote_spanned;
use syn::token;

use super::span::{mixed, output_span};
use crate::erased::erased_output;
use crate::target::Target;

/// Generates the statements of the block, which begins with the statements `bindings`.
pub(super) fn statements(target: &Target, bindings: &TokenStream) -> TokenStream {
    let (typed, body) = (typed(target), target.body.clone());
    let mut brace = target.brace;
    // With the user's span, the compiler would report the braces around a single expression as unused.
    if !body
        .clone()
        .into_iter()
        .any(|token| matches!(token, TokenTree::Punct(punct) if punct.as_char() == ';'))
    {
        brace = token::Brace(mixed().located_at(brace.span.join()));
    }
    let block = braced(brace, body);
    quote_spanned!(mixed()=> #typed #bindings #block)
}

/// Generates a block with these braces.
pub(super) fn braced(brace: token::Brace, statements: TokenStream) -> TokenStream {
    let mut block = TokenStream::new();
    brace.surround(&mut block, |block| block.extend(statements));
    block
}

/// Generates the statement that tells the compiler the type of an `async` block.
pub(super) fn typed(target: &Target) -> TokenStream {
    let output = erased_output(&target.output);
    let span = mixed().located_at(output_span(&target.output));
    // There is no syntax for the return type of an `async` block. This `return` never runs, but it tells the
    // compiler the type, so that `?`, coercions and error messages are the same as in the original function.
    quote_spanned! {span=>
        if let ::core::option::Option::Some(__output) = ::core::option::Option::None::<#output> {
            return __output;
        }
    }
}

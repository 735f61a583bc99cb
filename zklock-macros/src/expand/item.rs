//! The item that the compiler sees: the generated function, or the annotated item followed by its errors.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::parse::{Parse, ParseStream, Parser};
use syn::{Result, Signature};

use super::body::{braced, typed};
use super::span::mixed;
use crate::arguments::all_used;
use crate::boxed;
use crate::errors::Errors;
use crate::kind::Kind;
use crate::target::{Form, Reports, Target};

/// Parses both inputs of an attribute and generates the item with `function`. If anything fails, returns the
/// item as it was, followed by all errors.
///
/// `reports` decides by the arguments, which are `None` if they are wrong.
pub(super) fn expand<A: Parse>(
    (kind, reports): (Kind, impl FnOnce(Option<&A>) -> Reports),
    args: TokenStream,
    item: TokenStream,
    function: impl FnOnce(&A, &Target) -> Result<TokenStream>,
) -> TokenStream {
    let mut errors = Errors::default();
    let args_text = args.to_string();
    let parsed_args = errors.keep(syn::parse2::<A>(args));
    let reports = reports(parsed_args.as_ref());
    let target = |input: ParseStream<'_>| Target::read(input, kind, reports);
    let mut parsed_item = errors.keep(target.parse2(item.clone()));
    if let Some(Target { form: Form::Boxed(_), body, .. }) = &mut parsed_item {
        *body = boxed::permit_unused(std::mem::take(body), &args_text);
    }
    if let (Some(args), Some(target)) = (&parsed_args, &parsed_item)
        && let Some(function) = errors.keep(function(args, target))
    {
        return function;
    }
    // The generated code that uses the arguments is missing, so the compiler could warn without reason.
    let item = parsed_item.map_or(item, |target| {
        let (used, body) = (all_used(&target.sig), &target.body);
        self::function(&target, &target.sig, &quote!(#used #body))
    });
    let errors = errors.to_compile_errors();
    quote!(#item #errors)
}

/// Generates the annotated function with the signature `sig`, and with `statements` in place of its body.
pub(super) fn function(target: &Target, sig: &Signature, statements: &TokenStream) -> TokenStream {
    let Target { attrs, vis, defaultness, inner_attrs, form, outer_brace, brace, .. } = target;
    // With the user's span on its braces, the function is the user's for lints and for the attributes below.
    let block = match form {
        Form::Boxed(by) => {
            let typed = typed(target);
            let block = braced(*brace, quote!(#typed #statements));
            let boxed = quote_spanned!(brace.span.join()=> #by(async move #block));
            braced(*outer_brace, quote!(#(#inner_attrs)* #boxed))
        }
        Form::Async | Form::Sync => braced(*outer_brace, quote!(#(#inner_attrs)* #statements)),
    };
    quote_spanned!(mixed()=> #(#attrs)* #vis #defaultness #sig #block)
}

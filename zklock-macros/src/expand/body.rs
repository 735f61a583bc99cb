//! Generates the block that contains the user's body, in which `return` and `?` keep their meaning.

use proc_macro2::{Delimiter, Group, TokenStream};
use quote::{ToTokens, quote_spanned};
use syn::visit_mut::{self, VisitMut};
use syn::{ReturnType, Type, parse_quote};

use super::span::{mixed, output_span};
use crate::target::Target;

/// Generates the statements of the block, which captures the arguments by the statements `captures`.
pub(super) fn statements(target: &Target, captures: &TokenStream) -> TokenStream {
    let typed = typed(target, captures);
    let mut block = Group::new(Delimiter::Brace, target.body.clone());
    // With the user's span, the compiler could report these braces as unused.
    block.set_span(mixed().located_at(target.brace.span.join()));
    let block = block.into_token_stream();
    quote_spanned!(mixed()=> #typed #block)
}

/// Generates the statement that tells the compiler the type of an `async` block.
pub(super) fn typed(target: &Target, captures: &TokenStream) -> TokenStream {
    let output = erased_output(&target.output);
    let span = mixed().located_at(output_span(&target.output));
    // There is no syntax for the return type of an `async` block. This `return` never runs, but it tells the
    // compiler the type, so that `?`, coercions and error messages are the same as in the original function.
    quote_spanned! {span=>
        #[allow(
            unknown_lints,
            unreachable_code,
            clippy::diverging_sub_expression,
            clippy::empty_loop,
            clippy::let_unit_value,
            clippy::let_with_type_underscore,
            clippy::needless_return,
            clippy::type_complexity,
            clippy::unreachable,
            clippy::used_underscore_binding
        )]
        if false {
            #captures
            let __output: #output = loop {};
            return __output;
        }
    }
}

/// Returns the return type in a form that a `let` accepts.
fn erased_output(output: &ReturnType) -> Type {
    let mut ty = match output {
        ReturnType::Default => parse_quote!(()),
        ReturnType::Type(_, ty) => Type::clone(ty),
    };
    Eraser.visit_type_mut(&mut ty);
    ty
}

/// Puts `_` in place of the types that a `let` cannot name. A macro may expand to such a type.
struct Eraser;

impl VisitMut for Eraser {
    fn visit_type_mut(&mut self, ty: &mut Type) {
        match ty {
            Type::ImplTrait(_) | Type::Macro(_) => *ty = parse_quote!(_),
            _ => visit_mut::visit_type_mut(self, ty),
        }
    }
}

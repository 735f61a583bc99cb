//! Generates the results of calls whose body does not run, or does not run to its end.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Error, Result, ReturnType, Type};

use super::span::{mixed, output_span, private};
use crate::arguments::Arguments;
use crate::grouped::ungroup_type;
use crate::otherwise::Otherwise;
use crate::shared::{MapErr, Name, Shared};
use crate::target::Target;

/// Refuses `map_err` where the function returns nothing, so that no type of an error is known.
pub(super) fn check_map_err(shared: &Shared, target: &Target) -> Result<()> {
    match &shared.map_err {
        Some(MapErr(map)) if returns_nothing(&target.output) => {
            let name = &target.sig.ident;
            let message = format!(
                "`map_err` needs a `Result`: `{name}` returns `()`\nreturn `Result<(), E>`, or remove `map_err`"
            );
            Err(Error::new_spanned(map, message))
        }
        _ => Ok(()),
    }
}

fn returns_nothing(output: &ReturnType) -> bool {
    match output {
        ReturnType::Default => true,
        ReturnType::Type(_, ty) => matches!(ungroup_type(ty), Type::Tuple(unit) if unit.elems.is_empty()),
    }
}

/// The results of an annotated function without those of its body.
pub(super) struct Ending<'a> {
    shared: &'a Shared,
    target: &'a Target,
    /// The place of the return type, where the compiler reports a type without a suitable value.
    span: Span,
    /// The path of the facade's module, located at this place.
    at_output: TokenStream,
}

impl<'a> Ending<'a> {
    pub(super) fn new(shared: &'a Shared, target: &'a Target) -> Self {
        let span = mixed().located_at(output_span(&target.output));
        let at_output = private(shared.krate.as_ref(), span);
        Self { shared, target, span, at_output }
    }

    /// Generates the conversion of the `LockError` in `__error` into the return type, which can carry it.
    pub(super) fn failed(&self) -> TokenStream {
        self.carried(&quote_spanned!(mixed()=> __error))
    }

    /// Generates the same for a return type that may carry no error. The error is then logged.
    pub(super) fn reported(&self) -> TokenStream {
        if self.shared.map_err.is_some() {
            return self.failed();
        }
        let (at_output, function) = (&self.at_output, self.function());
        quote_spanned!(self.span=> #at_output::OnFailure::failed(__error, #function))
    }

    /// Generates the conversion of an error into a `Result`.
    fn carried(&self, error: &TokenStream) -> TokenStream {
        let Self { span, at_output, .. } = self;
        match &self.shared.map_err {
            None => quote_spanned!(*span=> #at_output::Carries::from_lock_error(#error)),
            Some(MapErr(map)) => {
                // With this span, a function of another type is reported at the user's expression.
                let private = private(self.shared.krate.as_ref(), mixed().located_at(map.span()));
                let mapped = quote_spanned!(mixed().located_at(map.span())=> #private::mapped(#map, #error));
                quote_spanned!(*span=> ::core::result::Result::Err(#mapped))
            }
        }
    }

    /// Generates the value of a call that does not run the body.
    pub(super) fn skipped(&self) -> TokenStream {
        let at_output = &self.at_output;
        quote_spanned!(self.span=> #at_output::OnSkip::skipped())
    }

    /// Generates the end of a block: the value that `otherwise` says. The expression `error` yields the `LockError` that
    /// says why.
    pub(super) fn otherwise(
        &self,
        otherwise: &Otherwise,
        arguments: &Arguments,
        error: &TokenStream,
    ) -> TokenStream {
        let value = match otherwise {
            Otherwise::Skip => self.skipped(),
            Otherwise::Error | Otherwise::Wait(_) => self.carried(error),
            Otherwise::Closure(closure) => {
                let private = private(self.shared.krate.as_ref(), mixed().located_at(closure.span()));
                quote_spanned!(mixed().located_at(closure.span())=> #private::instead(#closure, #error))
            }
            Otherwise::Value(value) => value.to_token_stream(),
        };
        let taken_apart = arguments.take_apart_for(&otherwise.to_token_stream());
        quote_spanned!(mixed()=> #taken_apart #value)
    }

    /// Generates the name of the function in logs.
    pub(super) fn function(&self) -> TokenStream {
        match &self.shared.name {
            Some(Name(name)) => quote!(#name),
            None => {
                let name = self.target.sig.ident.unraw().to_string();
                quote_spanned!(mixed()=> ::core::concat!(::core::module_path!(), "::", #name))
            }
        }
    }
}

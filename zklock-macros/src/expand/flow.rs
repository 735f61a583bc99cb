//! The ways in which a generated function waits and runs its body.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote_spanned};
use syn::{Error, Result};

use super::span::mixed;
use crate::on_lost::OnLost;
use crate::target::{Form, Target};

/// The way in which a generated function waits and runs its body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    /// The body is dropped when its lock or term is lost.
    Cancelled,
    /// The body runs to its end.
    ToEnd,
    /// The function is not async: it blocks where others await, and the body runs to its end.
    Blocking,
}

impl Flow {
    pub(super) fn of(target: &Target, on_lost: Option<OnLost>) -> Result<Self> {
        match (&target.form, on_lost) {
            (Form::Sync, Some(OnLost::Cancel(span))) => Err(Error::new(span, NO_AWAIT)),
            (Form::Sync, Some(OnLost::Finish) | None) => Ok(Self::Blocking),
            (Form::Async | Form::Boxed(_), Some(OnLost::Finish)) => Ok(Self::ToEnd),
            (Form::Async | Form::Boxed(_), Some(OnLost::Cancel(_)) | None) => Ok(Self::Cancelled),
        }
    }

    /// Returns the path of the facade's module with the functions that wait in this way.
    pub(super) fn calls(self, private: &TokenStream) -> TokenStream {
        match self {
            Self::Cancelled | Self::ToEnd => private.clone(),
            Self::Blocking => quote_spanned!(mixed()=> #private::blocking),
        }
    }

    /// Returns the tokens that follow a call of such a function: `.await`, or nothing.
    pub(super) fn awaited(self) -> TokenStream {
        match self {
            Self::Cancelled | Self::ToEnd => quote_spanned!(mixed()=> .await),
            Self::Blocking => TokenStream::new(),
        }
    }

    /// Returns the name of the function that runs the body: `name`, or its variant with the suffix `_to_end`.
    pub(super) fn runner(self, name: &str) -> Ident {
        match self {
            Self::Cancelled | Self::Blocking => Ident::new(name, mixed()),
            Self::ToEnd => format_ident!("{name}_to_end", span = mixed()),
        }
    }

    /// Generates the body in the form that such a function takes.
    pub(super) fn body(
        self,
        private: &TokenStream,
        target: &Target,
        statements: &TokenStream,
    ) -> TokenStream {
        match self {
            Self::Cancelled | Self::ToEnd => {
                // The compiler reports the end of the body at this span.
                let span = mixed().located_at(target.brace.span.join());
                quote_spanned!(span=> async move { #statements })
            }
            // The call of `blocking::body` tells the compiler that the closure is called once, so that it may
            // move out of its captures.
            Self::Blocking => {
                // The compiler reports an `await` in the body at this span, where `async` is missing.
                let span = mixed().located_at(target.sig.fn_token.span);
                let body = quote_spanned!(span=> move || { #statements });
                quote_spanned!(mixed()=> #private::blocking::body(#body))
            }
        }
    }
}

const NO_AWAIT: &str = "`cancel` drops the body at an await, and a function that is not async has none\n\
                        remove `on_lost`: the body runs to its end, and the function then reports the loss";

#[cfg(test)]
mod tests {
    use super::*;
    use syn::parse::{ParseStream, Parser};

    use crate::kind::Kind;
    use crate::target::Reports;

    #[track_caller]
    fn check(function: &str, on_lost: &str, expected: std::result::Result<Flow, &str>) {
        let read = |input: ParseStream<'_>| Target::read(input, Kind::LeaderOnly, Reports::WhatItCan);
        let target = read.parse_str(function).unwrap();
        let on_lost = (!on_lost.is_empty()).then(|| syn::parse_str(on_lost).unwrap());
        let flow = Flow::of(&target, on_lost).map_err(|error| error.to_string());
        assert_eq!(
            flow,
            expected.map_err(str::to_owned),
            "{function} {on_lost:?}",
            on_lost = on_lost.is_some()
        );
    }

    #[test]
    fn a_body_can_be_dropped_where_it_awaits() {
        let boxed = "fn f() -> Pin<Box<dyn Future<Output = ()>>> { Box::pin(async move {}) }";
        for function in ["async fn f() {}", boxed] {
            check(function, "", Ok(Flow::Cancelled));
            check(function, "cancel", Ok(Flow::Cancelled));
            check(function, "finish", Ok(Flow::ToEnd));
        }
        check("fn f() {}", "", Ok(Flow::Blocking));
        check("fn f() {}", "finish", Ok(Flow::Blocking));
        check("fn f() {}", "cancel", Err(NO_AWAIT));
    }
}

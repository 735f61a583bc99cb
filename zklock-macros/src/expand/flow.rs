//! How the generated function waits, and what becomes of its body.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote_spanned};
use syn::{Error, Result};

use super::span::mixed;
use crate::on_lost::OnLost;
use crate::target::{Form, Target};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    /// The body is dropped when what it runs under is lost.
    Cancelled,
    /// The body runs to its end.
    ToEnd,
    /// So it does in a function that is not async, which blocks where others await.
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

    /// The module of the functions that wait, in the module of the facade that generated code calls.
    pub(super) fn calls(self, private: &TokenStream) -> TokenStream {
        match self {
            Self::Cancelled | Self::ToEnd => private.clone(),
            Self::Blocking => quote_spanned!(mixed()=> #private::blocking),
        }
    }

    /// What stands behind a call of one of them.
    pub(super) fn awaited(self) -> TokenStream {
        match self {
            Self::Cancelled | Self::ToEnd => quote_spanned!(mixed()=> .await),
            Self::Blocking => TokenStream::new(),
        }
    }

    /// The one of them that runs the body, of those that are called after `name`.
    pub(super) fn runner(self, name: &str) -> Ident {
        match self {
            Self::Cancelled | Self::Blocking => Ident::new(name, mixed()),
            Self::ToEnd => format_ident!("{name}_to_end", span = mixed()),
        }
    }

    /// The body, as they take it.
    pub(super) fn body(
        self,
        private: &TokenStream,
        target: &Target,
        statements: &TokenStream,
    ) -> TokenStream {
        match self {
            Self::Cancelled | Self::ToEnd => quote_spanned!(mixed()=> async move { #statements }),
            // The call tells the compiler that it is called once, so that it may give away what it owns.
            Self::Blocking => {
                // Located where `async` is missing, if something is awaited.
                let span = mixed().located_at(target.sig.fn_token.span);
                let body = quote_spanned!(span=> move || { #statements });
                quote_spanned!(mixed()=> #private::blocking::body(#body))
            }
        }
    }
}

const NO_AWAIT: &str = "a body is dropped at an await, and a function that is not async has none\n\
                        leave `on_lost` out: the body runs to its end, and then the function says what was lost";

#[cfg(test)]
mod tests {
    use super::*;
    use syn::parse::{ParseStream, Parser};

    use crate::kind::Kind;

    #[track_caller]
    fn check(function: &str, on_lost: &str, expected: std::result::Result<Flow, &str>) {
        let read = |input: ParseStream<'_>| Target::read(input, Kind::LeaderOnly);
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

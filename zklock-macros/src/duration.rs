//! Reads durations that are written as strings, such as `"1m 30s"`, or as expressions.

use std::time::Duration;

use proc_macro2::TokenStream;
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Error, Expr, ExprLit, Lit, LitStr, Result, UnOp};

use crate::syntax::{mixed, ungroup};

/// A length of time.
pub(crate) enum Length {
    /// Known at expansion, and not zero.
    Exactly(Duration),
    /// An expression of type `Duration`.
    Computed(Box<Expr>),
}

/// The description of an argument that takes a duration, for error messages.
pub(crate) struct Argument {
    pub(crate) name: &'static str,
    /// The noun for the value, with its article.
    pub(crate) noun: &'static str,
    /// The values that the argument takes.
    pub(crate) values: &'static str,
    /// The message that refuses a duration of zero.
    pub(crate) zero: &'static str,
}

impl Length {
    pub(crate) fn read(value: &Expr, argument: &Argument) -> Result<Self> {
        match ungroup(value) {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => match parse(text)? {
                Duration::ZERO => Err(Error::new(text.span(), argument.zero)),
                length => Ok(Self::Exactly(length)),
            },
            Expr::Lit(ExprLit { lit, .. }) => Err(argument.refuse(value, lit)),
            Expr::Unary(unary) if matches!(unary.op, UnOp::Neg(_)) => {
                Err(Error::new_spanned(value, format!("{} cannot be negative", argument.noun)))
            }
            _ => Ok(Self::Computed(Box::new(value.clone()))),
        }
    }

    /// Generates an expression of type `Duration`.
    pub(crate) fn expand(&self) -> TokenStream {
        match self {
            Self::Exactly(length) => expand(*length),
            Self::Computed(expr) => {
                // With this span, a type mismatch is reported at the user's expression.
                let span = mixed().located_at(expr.span());
                let duration = quote_spanned!(span=> ::core::time::Duration);
                quote!({ let length: #duration = #expr; length })
            }
        }
    }
}

impl Argument {
    fn refuse(&self, value: &Expr, lit: &Lit) -> Error {
        let Self { name, noun, values, zero } = self;
        let message = match lit {
            Lit::Int(number) if number.base10_digits() == "0" && number.suffix().is_empty() => {
                (*zero).to_owned()
            }
            Lit::Int(number) if number.suffix().is_empty() => {
                format!("{noun} needs a unit: `{name} = \"{number}s\"`")
            }
            Lit::Int(_) | Lit::Float(_) => {
                format!("quote the duration: `{name} = \"{}\"`", lit.to_token_stream())
            }
            _ => format!("`{name}` takes {values}"),
        };
        Error::new_spanned(value, message)
    }
}

/// Parses a string literal as a duration.
pub(crate) fn parse(text: &LitStr) -> Result<Duration> {
    humantime::parse_duration(&text.value()).map_err(|error| {
        let message = format!(
            "{text:?} is not a duration: {error}\nwrite for example \"5s\", \"1500ms\" or \"1m 30s\"",
            text = text.value()
        );
        Error::new(text.span(), message)
    })
}

/// Generates an expression of type `Duration`.
pub(crate) fn expand(duration: Duration) -> TokenStream {
    let (secs, nanos) = (duration.as_secs(), duration.subsec_nanos());
    quote!(::core::time::Duration::new(#secs, #nanos))
}

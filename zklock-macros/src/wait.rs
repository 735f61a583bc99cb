//! `wait = …`: how long the whole acquisition may take.

use std::time::Duration;

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::parse::{Parse, ParseStream};
use syn::spanned::Spanned;
use syn::{Error, Expr, ExprLit, Lit, LitStr, Result, UnOp};

use crate::duration;
use crate::grouped::ungroup;

/// The value of `wait`.
pub(crate) enum Wait {
    /// A length known at expansion.
    Exactly(Duration),
    /// An expression of type `Duration`.
    Computed(Box<Expr>),
    Forever,
}

impl Parse for Wait {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let value: Expr = input.parse()?;
        match ungroup(&value) {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => exact(text).map(Self::Exactly),
            Expr::Lit(ExprLit { lit, .. }) => Err(not_a_duration(&value, lit)),
            Expr::Unary(unary) if matches!(unary.op, UnOp::Neg(_)) => {
                Err(Error::new_spanned(&value, "a wait cannot be negative"))
            }
            Expr::Path(path) if path.path.is_ident("forever") => Ok(Self::Forever),
            _ => Ok(Self::Computed(Box::new(value))),
        }
    }
}

fn exact(text: &LitStr) -> Result<Duration> {
    let duration = duration::parse(text)?;
    if duration.is_zero() {
        return Err(Error::new(
            text.span(),
            "a wait of zero can never acquire the lock\n`wait = forever` waits without limit",
        ));
    }
    Ok(duration)
}

fn not_a_duration(value: &Expr, lit: &Lit) -> Error {
    let message = match lit {
        Lit::Int(number) if number.suffix().is_empty() => {
            format!("a wait needs a unit: `wait = \"{number}s\"`")
        }
        Lit::Int(number) => format!("quote the duration: `wait = \"{number}\"`"),
        Lit::Float(number) => format!("quote the duration and give it a unit: `wait = \"{number}s\"`"),
        _ => "`wait` takes a duration: `wait = \"5s\"`, `forever` or an expression".to_owned(),
    };
    Error::new_spanned(value, message)
}

impl Wait {
    /// The expression of type `__private::Wait`.
    pub(crate) fn expand(wait: Option<&Self>, private: &TokenStream) -> TokenStream {
        match wait {
            None => quote!(#private::Wait::Default),
            Some(Self::Forever) => quote!(#private::Wait::Forever),
            Some(Self::Exactly(duration)) => {
                let duration = duration::expand(*duration);
                quote!(#private::Wait::For(#duration))
            }
            Some(Self::Computed(expr)) => {
                // A type mismatch is then reported at the user's expression.
                let duration = quote_spanned!(expr.span()=> ::core::time::Duration);
                quote!(#private::Wait::For({ let wait: #duration = #expr; wait }))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(input: &str, expected: &str) {
        let shown = match syn::parse_str::<Wait>(input) {
            Ok(wait) => Wait::expand(Some(&wait), &quote!(p)).to_string().replace(' ', ""),
            Err(error) => error.to_string(),
        };
        assert_eq!(shown, expected, "{input}");
    }

    #[test]
    fn strings_are_durations() {
        check(r#""5s""#, "p::Wait::For(::core::time::Duration::new(5u64,0u32))");
        check(r#""1m 30s""#, "p::Wait::For(::core::time::Duration::new(90u64,0u32))");
        check(r#""1500ms""#, "p::Wait::For(::core::time::Duration::new(1u64,500000000u32))");
    }

    #[test]
    fn expressions_are_kept() {
        check("forever", "p::Wait::Forever");
        check("self.patience", "p::Wait::For({letwait:::core::time::Duration=self.patience;wait})");
    }

    #[test]
    fn no_wait_is_the_clients_default() {
        assert_eq!(Wait::expand(None, &quote!(p)).to_string(), "p :: Wait :: Default");
    }

    #[test]
    fn what_is_not_a_duration_is_refused() {
        check(r#""0s""#, "a wait of zero can never acquire the lock\n`wait = forever` waits without limit");
        check("5", "a wait needs a unit: `wait = \"5s\"`");
        check("5s", "quote the duration: `wait = \"5s\"`");
        check("1.5", "quote the duration and give it a unit: `wait = \"1.5s\"`");
        check("-5", "a wait cannot be negative");
        check("true", "`wait` takes a duration: `wait = \"5s\"`, `forever` or an expression");
        check(
            r#""5 parsecs""#,
            "\"5 parsecs\" is not a duration: unknown time unit \"parsecs\", supported units: \
             ns, us/µs, ms, sec, min, hours, days, weeks, months, years (and few variations)\n\
             write for example \"5s\", \"1500ms\" or \"1m 30s\"",
        );
    }
}

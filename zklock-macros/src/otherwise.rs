//! The argument `otherwise = …`: the result of a call that does not run the body, because another one leads or
//! holds the lock.
//!
//! Uses only `grouped`.

use proc_macro2::{Span, TokenStream};
use quote::ToTokens;
use syn::parse::{Parse, ParseStream};
use syn::{Expr, ExprClosure, Ident, Result};

use crate::grouped::{name_in, ungroup};

/// The value of `otherwise`.
pub(crate) enum Otherwise {
    /// The value for a skipped call, by the return type.
    Skip,
    /// The call waits. The span is that of the value.
    Wait(Span),
    Error,
    Value(Box<Expr>),
    /// A function of the error.
    Closure(Box<ExprClosure>),
}

impl Parse for Otherwise {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let value: Expr = input.parse()?;
        let name = name_in(&value);
        Ok(match name.map(Ident::to_string).as_deref() {
            Some("skip") => Self::Skip,
            Some("wait") => Self::Wait(name.map_or_else(Span::call_site, Ident::span)),
            Some("error") => Self::Error,
            _ => match ungroup(&value) {
                Expr::Closure(closure) => Self::Closure(Box::new(closure.clone())),
                _ => Self::Value(Box::new(without_parentheses(value))),
            },
        })
    }
}

impl ToTokens for Otherwise {
    /// Yields the user's expression, if there is one.
    fn to_tokens(&self, tokens: &mut TokenStream) {
        match self {
            Self::Value(value) => value.to_tokens(tokens),
            Self::Closure(closure) => closure.to_tokens(tokens),
            Self::Skip | Self::Wait(_) | Self::Error => {}
        }
    }
}

/// Removes the parentheses around a value. They distinguish a variable from one of the words above, and the
/// compiler would report them as unused.
fn without_parentheses(value: Expr) -> Expr {
    match value {
        Expr::Paren(paren) => *paren.expr,
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_a_closure_or_a_value_says_what_is_returned() {
        let otherwise = |value: &str| syn::parse_str::<Otherwise>(value).unwrap();
        assert!(matches!(otherwise("skip"), Otherwise::Skip));
        assert!(matches!(otherwise("wait"), Otherwise::Wait(_)));
        assert!(matches!(otherwise("error"), Otherwise::Error));
        for closure in ["|error| Err(error.into())", "move |_| 7"] {
            assert!(matches!(otherwise(closure), Otherwise::Closure(_)), "{closure}");
        }
        for value in ["(skip)", "Ok(0)", "{ wait }", "Self::error", "return 7", "(|| 7)()"] {
            assert!(matches!(otherwise(value), Otherwise::Value(_)), "{value}");
        }
    }
}

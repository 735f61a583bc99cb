//! `path = …`: a template that is checked at expansion, or an expression that is checked when the lock is
//! taken.

mod node;
mod template;

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::parse::{Parse, ParseStream};
use syn::spanned::Spanned;
use syn::{Error, Expr, LitStr, Result};

use crate::grouped::{string, ungroup};
use template::Piece;

/// The value of `path`.
pub(crate) enum Path {
    Template { text: LitStr, pieces: Vec<Piece> },
    Computed(Box<Expr>),
}

impl Parse for Path {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let value: Expr = input.parse()?;
        if let Some(text) = string(&value) {
            let pieces = template::parse(text)?;
            node::check(text, &pieces)?;
            return Ok(Self::Template { text: text.clone(), pieces });
        }
        match ungroup(&value) {
            Expr::Lit(_) => {
                Err(Error::new_spanned(&value, "`path` takes a string: `path = \"/orders/{id}\"`"))
            }
            Expr::Array(_) => Err(Error::new_spanned(&value, "`path` takes one path")),
            _ => Ok(Self::Computed(Box::new(value))),
        }
    }
}

impl Path {
    /// The expression of type `Result<String, LockError>`.
    pub(crate) fn expand(&self, private: &TokenStream) -> TokenStream {
        match self {
            // A type mismatch is then reported at the user's expression.
            Self::Computed(expr) => quote_spanned!(expr.span()=> #private::path_of(&(#expr))),
            Self::Template { text, pieces } => {
                let span = Span::mixed_site().located_at(text.span());
                let calls = pieces.iter().map(|piece| match piece {
                    Piece::Literal(part) => quote_spanned!(span=> .literal(#part)),
                    Piece::Expr(expr) => quote_spanned!(span=> .segment(&(#expr))),
                });
                let new = quote!(#private::PathTemplate::new(#text));
                quote!(#new #(#calls)* .finish())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(input: &str, expected: &str) {
        let shown = match syn::parse_str::<Path>(input) {
            Ok(path) => path.expand(&quote!(p)).to_string().replace(' ', ""),
            Err(error) => error.to_string(),
        };
        assert_eq!(shown, expected, "{input}");
    }

    #[test]
    fn templates_become_calls() {
        check(r#""/jobs""#, r#"p::PathTemplate::new("/jobs").literal("/jobs").finish()"#);
        check(
            r#""/orders/{order.id}/x""#,
            r#"p::PathTemplate::new("/orders/{order.id}/x").literal("/orders/").segment(&(order.id)).literal("/x").finish()"#,
        );
        check(r#""/{{a}}""#, r#"p::PathTemplate::new("/{{a}}").literal("/{a}").finish()"#);
    }

    #[test]
    fn expressions_are_kept() {
        check("self.lock_path()", "p::path_of(&(self.lock_path()))");
        check(r#"concat!("/a", "/b")"#, r#"p::path_of(&(concat!("/a","/b")))"#);
    }

    #[test]
    fn other_literals_are_refused() {
        check("7", "`path` takes a string: `path = \"/orders/{id}\"`");
        check("b\"/a\"", "`path` takes a string: `path = \"/orders/{id}\"`");
        check(r#"["/a", "/b"]"#, "`path` takes one path");
    }
}

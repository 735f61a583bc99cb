//! One path: a template that is checked at expansion, or an expression that is checked when the lock is
//! taken.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Error, Expr, LitStr, Macro, Result, Token};

use super::node;
use super::template::{self, Piece};
use crate::grouped::{string, ungroup};

#[derive(Clone)]
pub(crate) enum Single {
    Template { text: LitStr, pieces: Vec<Piece> },
    Computed(Box<Expr>),
}

/// Generates an expression of type `__private::Path` for a constant path, which is validated once.
pub(super) fn site([template, path]: [LitStr; 2], private: &TokenStream) -> TokenStream {
    quote_spanned! {Span::mixed_site()=>
        {
            static __SITE: #private::Site = #private::Site::new(#template, #path);
            #private::constant(&__SITE)
        }
    }
}

impl Single {
    pub(super) fn new(value: &Expr) -> Result<Self> {
        if let Some(text) = string(value) {
            let pieces = template::parse(text)?;
            node::check(text, &pieces)?;
            return Ok(Self::Template { text: text.clone(), pieces });
        }
        match ungroup(value) {
            Expr::Lit(_) => {
                Err(Error::new_spanned(value, "`path` takes strings, for example `path = \"/orders/{id}\"`"))
            }
            Expr::Range(_) => {
                Err(Error::new_spanned(value, "a list of paths is spread in an array: `path = [..orders]`"))
            }
            Expr::Macro(call) if concatenated(&call.mac).is_some_and(|text| has_braces(&text)) => {
                Err(Error::new_spanned(value, CONCATENATED))
            }
            _ => Ok(Self::Computed(Box::new(value.clone()))),
        }
    }

    /// Generates an expression of type `__private::Path`.
    pub(super) fn expand(&self, private: &TokenStream) -> TokenStream {
        match self {
            // With this span, a type mismatch is reported at the user's expression.
            Self::Computed(expr) => quote_spanned!(expr.span()=> #private::path_of(&(#expr))),
            Self::Template { text, pieces } => {
                let span = Span::mixed_site().located_at(text.span());
                let calls = pieces.iter().map(|piece| match piece {
                    Piece::Literal(part) => quote_spanned!(span=> .literal(#part)),
                    Piece::Expr(expr) => quote_spanned!(span=> .segment(&(#expr))),
                });
                // With this span, no lint takes the template for a format string of the user's.
                let text = LitStr::new(&text.value(), span);
                let new = quote!(#private::PathTemplate::new(#text));
                quote!(#new #(#calls)* .finish())
            }
        }
    }

    /// Generates an expression of type `__private::Path`, which validates a constant path once.
    pub(super) fn expand_at_site(&self, private: &TokenStream) -> TokenStream {
        match self {
            Self::Template { text, pieces } => match &pieces[..] {
                [Piece::Literal(path)] => {
                    let span = Span::mixed_site().located_at(text.span());
                    site([&text.value(), path].map(|text| LitStr::new(text, span)), private)
                }
                _ => self.expand(private),
            },
            Self::Computed(_) => self.expand(private),
        }
    }

    /// Tells whether both are certainly the same path.
    pub(super) fn is_surely(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Template { pieces, .. }, Self::Template { pieces: others, .. }) => {
                pieces.len() == others.len() && pieces.iter().zip(others).all(|(one, other)| same(one, other))
            }
            (Self::Computed(one), Self::Computed(other)) => same_value(one, other),
            _ => false,
        }
    }
}

/// Returns the text of a call of `concat!` with strings only.
fn concatenated(call: &Macro) -> Option<String> {
    let parts = call.parse_body_with(Punctuated::<LitStr, Token![,]>::parse_terminated);
    call.path
        .is_ident("concat")
        .then(|| parts.ok())
        .flatten()
        .map(|parts| parts.iter().map(LitStr::value).collect())
}

fn has_braces(text: &str) -> bool {
    text.split_once('{').is_some_and(|(_, rest)| rest.contains('}'))
}

const CONCATENATED: &str = "the text of `concat!` is not a template, so that its braces would stay\nwrite the path as one string literal";

fn same(one: &Piece, other: &Piece) -> bool {
    match (one, other) {
        (Piece::Literal(one), Piece::Literal(other)) => one == other,
        (Piece::Expr(one), Piece::Expr(other)) => same_value(one, other),
        _ => false,
    }
}

/// Tells whether both expressions certainly have the same value. Only variables and their fields count,
/// because a call may return a different value each time.
fn same_value(one: &Expr, other: &Expr) -> bool {
    is_place(one) && one.to_token_stream().to_string() == other.to_token_stream().to_string()
}

fn is_place(value: &Expr) -> bool {
    match ungroup(value) {
        Expr::Path(_) => true,
        Expr::Field(field) => is_place(&field.base),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(input: &str, expected: &str) {
        let shown = match Single::new(&syn::parse_str(input).unwrap()) {
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
        let escaped = Single::new(&syn::parse_quote!("/{{a}}")).unwrap().expand_at_site(&quote!(p));
        let site = r#"{static__SITE:p::Site=p::Site::new("/{{a}}","/{a}");p::constant(&__SITE)}"#;
        assert_eq!(escaped.to_string().replace(' ', ""), site);
    }

    #[test]
    fn expressions_are_kept() {
        check("self.lock_path()", "p::path_of(&(self.lock_path()))");
        check(r#"concat!("/a", "/b")"#, r#"p::path_of(&(concat!("/a","/b")))"#);
    }

    #[test]
    fn braces_in_concatenated_strings_are_refused() {
        check(r#"concat!("/orders/", "{id}")"#, CONCATENATED);
        check(r#"concat!("/odd}", "{")"#, r#"p::path_of(&(concat!("/odd}","{")))"#);
        check(r#"concat!("/orders/", NAME, "{id}")"#, r#"p::path_of(&(concat!("/orders/",NAME,"{id}")))"#);
        check(r#"text!("/orders/{id}")"#, r#"p::path_of(&(text!("/orders/{id}")))"#);
    }

    #[test]
    fn other_literals_are_refused() {
        check("7", "`path` takes strings, for example `path = \"/orders/{id}\"`");
        check("b\"/a\"", "`path` takes strings, for example `path = \"/orders/{id}\"`");
    }

    #[track_caller]
    fn surely(one: &str, other: &str, expected: bool) {
        let single = |input| Single::new(&syn::parse_str(input).unwrap()).unwrap();
        assert_eq!(single(one).is_surely(&single(other)), expected, "{one} {other}");
    }

    #[test]
    fn the_same_text_is_the_same_path_unless_it_calls() {
        surely(r#""/a""#, r#""/a""#, true);
        surely(r#""/a""#, r#""/b""#, false);
        surely(r#""/a/{id}""#, r#""/a/{ id }""#, true);
        surely(r#""/a/{self.0.id}/b""#, r#""/a/{self.0.id}/b""#, true);
        surely(r#""/a/{from}""#, r#""/a/{to}""#, false);
        surely(r#""/a/{id}""#, r#""/a/{id}/b""#, false);
        surely(r#""/a/{next()}""#, r#""/a/{next()}""#, false);
        surely("PATH", "PATH", true);
        surely("next()", "next()", false);
        surely("id", r#""/{id}""#, false);
    }
}

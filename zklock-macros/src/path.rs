//! The argument `path = …`: one path, or an array of paths that are locked together.

mod known;
mod node;
mod template;

use proc_macro2::TokenStream;
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Error, Expr, ExprArray, ExprRange, LitStr, RangeLimits, Result, Signature};

use crate::syntax::{Errors, mixed, string, ungroup};
use template::Piece;

/// The value of `path`.
#[derive(Clone, Default)]
pub(crate) struct Path {
    /// At least one.
    elements: Vec<Element>,
    /// Whether it is an array.
    pub(crate) is_group: bool,
}

/// One path, or a list of paths in an array.
#[derive(Clone)]
enum Element {
    /// It is checked at expansion.
    Template { text: LitStr, pieces: Vec<Piece> },
    /// It is checked when the lock is taken.
    Computed(Expr),
    /// `..list`: each path of a list that is known when the function is called.
    Each(Expr),
}

const EXAMPLE: &str = "`path = [\"/accounts/{from}\", \"/accounts/{to}\"]`";

impl Path {
    pub(crate) fn read(value: &Expr) -> Result<Self> {
        match ungroup(value) {
            Expr::Array(array) => Ok(Self { elements: several(array)?, is_group: true }),
            Expr::Reference(reference) if is_array(&reference.expr) => {
                Err(Error::new_spanned(value, format!("write the array of paths without `&`: {EXAMPLE}")))
            }
            Expr::Repeat(_) => {
                Err(Error::new_spanned(value, format!("the same path cannot be locked twice: {EXAMPLE}")))
            }
            _ => Ok(Self { elements: vec![Element::read(value)?], is_group: false }),
        }
    }

    /// Reads a path where an array is refused with the message `refusal`.
    pub(crate) fn read_one(value: &Expr, refusal: &str) -> Result<Self> {
        match is_array(value) {
            true => Err(Error::new_spanned(value, refusal)),
            false => Self::read(value),
        }
    }

    /// Generates an expression of type `__private::Paths`.
    ///
    /// # Errors
    ///
    /// Names in the templates that are most likely misspelled arguments of the function.
    pub(crate) fn expand(&self, sig: &Signature, private: &TokenStream) -> Result<TokenStream> {
        let (mut errors, mut elements) = (Errors::default(), self.elements.clone());
        for element in &mut elements {
            if let Element::Template { text, pieces } = element {
                known::look_at(text, pieces, sig, &mut errors);
            }
        }
        errors.finish()?;
        let calls = elements.iter().map(Element::expand);
        Ok(quote!(#private::Paths::new() #(#calls)*))
    }
}

fn several(array: &ExprArray) -> Result<Vec<Element>> {
    if array.elems.is_empty() {
        return Err(Error::new_spanned(array, format!("an empty array locks nothing: {EXAMPLE}")));
    }
    let (mut errors, mut before) = (Errors::default(), Vec::new());
    let mut elements = Vec::new();
    for value in &array.elems {
        elements.extend(errors.keep(element(value, &before)));
        before.extend(fixed(value));
    }
    errors.finish().map(|()| elements)
}

fn element(value: &Expr, before: &[String]) -> Result<Element> {
    if is_array(value) {
        return Err(Error::new_spanned(value, "arrays of paths do not nest: list all paths in one array"));
    }
    if let Expr::Range(ExprRange { start: None, limits: RangeLimits::HalfOpen(_), end: Some(list), .. }) =
        ungroup(value)
    {
        return Ok(Element::Each(Expr::clone(list)));
    }
    match fixed(value).is_some_and(|text| before.contains(&text)) {
        true => Err(Error::new_spanned(value, "this path is in the array twice")),
        false => Element::read(value),
    }
}

/// Returns the text of a path that certainly is the same whenever it is evaluated: one without calls and macros.
fn fixed(value: &Expr) -> Option<String> {
    let text = value.to_token_stream().to_string();
    (!text.contains(['(', '!'])).then_some(text)
}

fn is_array(value: &Expr) -> bool {
    match ungroup(value) {
        Expr::Array(_) | Expr::Repeat(_) => true,
        Expr::Reference(reference) => is_array(&reference.expr),
        _ => false,
    }
}

impl Element {
    /// Reads one path.
    fn read(value: &Expr) -> Result<Self> {
        if let Some(text) = string(value) {
            let pieces = template::parse(text)?;
            node::check(text, &pieces)?;
            return Ok(Self::Template { text: text.clone(), pieces });
        }
        let refusal = match ungroup(value) {
            Expr::Lit(_) => "`path` takes strings, for example `path = \"/orders/{id}\"`",
            Expr::Range(_) => "a list of paths is spread in an array: `path = [..orders]`",
            Expr::Macro(call) if call.mac.path.is_ident("concat") => "write the path as one string literal",
            _ => return Ok(Self::Computed(value.clone())),
        };
        Err(Error::new_spanned(value, refusal))
    }

    /// Generates the calls that add the path to `__private::Paths`.
    fn expand(&self) -> TokenStream {
        match self {
            // With this span, a type mismatch is reported at the user's expression.
            Self::Computed(path) => quote_spanned!(path.span()=> .text(&(#path))),
            Self::Each(list) => quote_spanned!(list.span()=> .each(#list)),
            Self::Template { text, pieces } => {
                let span = mixed().located_at(text.span());
                let calls = pieces.iter().map(|piece| match piece {
                    Piece::Literal(part) => quote_spanned!(span=> .literal(#part)),
                    Piece::Expr(expr) => quote_spanned!(span=> .segment(&(#expr))),
                });
                // With this span, no lint takes the template for a format string of the user's.
                let text = LitStr::new(&text.value(), span);
                quote_spanned!(span=> .template(#text) #(#calls)*)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(input: &str, expected: &[&str]) {
        let errors = Path::read(&syn::parse_str(input).unwrap()).err().expect("it is refused");
        let errors: Vec<_> = errors.into_iter().map(|one| one.to_string()).collect();
        assert_eq!(errors, expected, "{input}");
    }

    #[test]
    fn every_bad_element_is_reported() {
        let nested = "arrays of paths do not nest: list all paths in one array";
        refused(
            r#"["/a", 7, "b", ["/c"], "/a", &[PATH; 2]]"#,
            &[
                "`path` takes strings, for example `path = \"/orders/{id}\"`",
                "the path \"b\" is relative: start it with a `/`",
                nested,
                "this path is in the array twice",
                nested,
            ],
        );
    }

    #[test]
    fn an_invalid_path_or_list_is_refused() {
        let spread = "a list of paths is spread in an array: `path = [..orders]`";
        for (input, expected) in [
            ("[]", &*format!("an empty array locks nothing: {EXAMPLE}")),
            (r#"["/a"; 2]"#, &*format!("the same path cannot be locked twice: {EXAMPLE}")),
            (r#"&["/a", "/b"]"#, &*format!("write the array of paths without `&`: {EXAMPLE}")),
            (r#"concat!("/orders/", "{id}")"#, "write the path as one string literal"),
            ("b\"/a\"", "`path` takes strings, for example `path = \"/orders/{id}\"`"),
            ("..orders", spread),
            ("[..=orders]", spread),
        ] {
            refused(input, &[expected]);
        }
    }

    #[test]
    fn the_same_text_is_the_same_path_unless_it_calls() {
        let is_twice = |one: &str| Path::read(&syn::parse_str(&format!("[{one}, {one}]")).unwrap()).is_err();
        assert!(is_twice(r#""/a/{self.0.id}/b""#) && is_twice("PATH"));
        assert!(!is_twice(r#""/a/{next()}""#) && !is_twice("next()"));
    }
}

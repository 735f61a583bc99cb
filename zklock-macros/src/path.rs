//! The argument `path = …`: one path, or an array of paths that are locked together.
//!
//! Uses only `bound`, `errors`, `grouped` and `names`.

mod known;
mod node;
mod single;
mod template;

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::parse::{Parse, ParseStream};
use syn::spanned::Spanned;
use syn::{Error, Expr, ExprArray, ExprRange, LitStr, RangeLimits, Result, Signature, Token};

use crate::errors::Errors;
use crate::grouped::ungroup;
use single::{Single, site};

/// The value of `path`.
pub(crate) enum Path {
    One(Single),
    /// At least one.
    Several(Vec<Element>),
}

/// An element of an array of paths.
pub(crate) enum Element {
    One(Single),
    /// `..list`: each path of a list that is known when the function is called.
    Each(Expr),
}

impl Parse for Path {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        check_quoted(input)?;
        let value: Expr = input.parse()?;
        match ungroup(&value) {
            Expr::Array(array) => several(array).map(Self::Several),
            Expr::Reference(reference) if is_array(&reference.expr) => {
                Err(Error::new_spanned(&value, format!("write the array of paths without `&`: {EXAMPLE}")))
            }
            Expr::Repeat(_) => {
                Err(Error::new_spanned(&value, format!("the same path cannot be locked twice: {EXAMPLE}")))
            }
            _ => Single::new(&value).map(Self::One),
        }
    }
}

/// Refuses a path without its quotes. No expression begins with a `/`.
pub(crate) fn check_quoted(input: ParseStream<'_>) -> Result<()> {
    match input.peek(Token![/]) {
        true => Err(input.error("a path is a string: quote it, for example `path = \"/orders/{id}\"`")),
        false => Ok(()),
    }
}

const EXAMPLE: &str = "`path = [\"/accounts/{from}\", \"/accounts/{to}\"]`";

fn several(array: &ExprArray) -> Result<Vec<Element>> {
    if array.elems.is_empty() {
        return Err(Error::new_spanned(array, format!("an empty array locks nothing: {EXAMPLE}")));
    }
    let (mut errors, mut paths) = (Errors::default(), Vec::new());
    for value in &array.elems {
        paths.extend(errors.keep(element(value, &paths)));
    }
    errors.finish().map(|()| paths)
}

fn element(value: &Expr, before: &[Element]) -> Result<Element> {
    if is_array(value) {
        return Err(Error::new_spanned(value, "arrays of paths do not nest: list all paths in one array"));
    }
    if let Expr::Range(ExprRange { start: None, limits: RangeLimits::HalfOpen(_), end: Some(list), .. }) =
        ungroup(value)
    {
        return Ok(Element::Each(Expr::clone(list)));
    }
    let path = Single::new(value)?;
    let is_twice = before.iter().any(|other| matches!(other, Element::One(other) if other.is_surely(&path)));
    match is_twice {
        true => Err(Error::new_spanned(value, "this path is in the array twice")),
        false => Ok(Element::One(path)),
    }
}

fn is_array(value: &Expr) -> bool {
    match ungroup(value) {
        Expr::Array(_) | Expr::Repeat(_) => true,
        Expr::Reference(reference) => is_array(&reference.expr),
        _ => false,
    }
}

impl Path {
    /// Generates an expression of type `__private::Path`, or of an array or a vector of them.
    pub(crate) fn expand(&self, private: &TokenStream) -> TokenStream {
        match self {
            Self::One(path) => path.expand_at_site(private),
            Self::Several(elements) => all(elements, private),
        }
    }

    /// Refuses names in the templates that are most likely misspelled arguments of the function, and returns the path
    /// whose other names the compiler explains best.
    pub(crate) fn in_function(&self, sig: &Signature) -> Result<Self> {
        Ok(match self {
            Self::One(path) => Self::One(known::in_function(path, sig)?),
            Self::Several(elements) => {
                let mut errors = Errors::default();
                let each =
                    elements.iter().filter_map(|element| errors.keep(element.in_function(sig))).collect();
                errors.finish()?;
                Self::Several(each)
            }
        })
    }

    /// Generates an expression of type `&[__private::Path]` from the variable `__path`, which holds the value
    /// of [`expand`](Self::expand).
    pub(crate) fn slice(&self) -> TokenStream {
        match self {
            Self::One(_) => slice_of_one(),
            Self::Several(_) => quote_spanned!(Span::mixed_site()=> &__path),
        }
    }
}

fn all(elements: &[Element], private: &TokenStream) -> TokenStream {
    if elements.iter().all(|element| matches!(element, Element::One(_))) {
        let paths = elements.iter().map(|element| element.expand(private));
        return quote!([#(#paths),*]);
    }
    let calls = elements.iter().map(|element| {
        let value = element.expand(private);
        match element {
            Element::One(_) => quote!(.one(#value)),
            // With this span, a type mismatch is reported at the user's expression.
            Element::Each(list) => quote_spanned!(list.span()=> .each(#value)),
        }
    });
    quote!(#private::Paths::new() #(#calls)* .finish())
}

impl Element {
    fn in_function(&self, sig: &Signature) -> Result<Self> {
        match self {
            Self::One(path) => known::in_function(path, sig).map(Self::One),
            Self::Each(list) => Ok(Self::Each(list.clone())),
        }
    }

    fn expand(&self, private: &TokenStream) -> TokenStream {
        match self {
            Self::One(path) => path.expand(private),
            Self::Each(list) => list.to_token_stream(),
        }
    }
}

/// Generates an expression of type `&[__private::Path]` from the variable `__path`, which holds one path.
pub(crate) fn slice_of_one() -> TokenStream {
    quote_spanned!(Span::mixed_site()=> ::core::slice::from_ref(&__path))
}

/// Generates an expression of type `__private::Path` for this path, which is valid and has no values in it.
pub(crate) fn constant(path: &str, private: &TokenStream) -> TokenStream {
    site([path, path].map(|path| LitStr::new(path, Span::mixed_site())), private)
}

/// A path where an array is not allowed.
pub(crate) struct OnePath(Single);

impl OnePath {
    /// Reads the path; an array is refused with the message `refusal`.
    pub(crate) fn read(value: &Expr, refusal: &str) -> Result<Self> {
        match is_array(value) {
            true => Err(Error::new_spanned(value, refusal)),
            false => Single::new(value).map(Self),
        }
    }

    /// Does the same as [`Path::in_function`].
    pub(crate) fn in_function(&self, sig: &Signature) -> Result<Self> {
        known::in_function(&self.0, sig).map(Self)
    }

    /// Generates an expression of type `__private::Path`.
    pub(crate) fn expand(&self, private: &TokenStream) -> TokenStream {
        self.0.expand_at_site(private)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(input: &str, expected: &[&str]) {
        let shown = match syn::parse_str::<Path>(input) {
            Ok(path) => vec![path.expand(&quote!(p)).to_string().replace(' ', "")],
            Err(error) => error.into_iter().map(|one| one.to_string()).collect(),
        };
        assert_eq!(shown, expected, "{input}");
    }

    #[test]
    fn one_path_is_no_array() {
        let site = r#"{static__SITE:p::Site=p::Site::new("/jobs","/jobs");p::constant(&__SITE)}"#;
        check(r#""/jobs""#, &[site]);
        check("self.path()", &["p::path_of(&(self.path()))"]);
    }

    #[test]
    fn each_element_is_a_path() {
        check(
            r#"["/a/{id}", self.path(), "/b",]"#,
            &[r#"[p::PathTemplate::new("/a/{id}").literal("/a/").segment(&(id)).finish(),"#.to_owned()
                + "p::path_of(&(self.path())),"
                + r#"p::PathTemplate::new("/b").literal("/b").finish()]"#]
            .each_ref()
            .map(String::as_str),
        );
        check(r#"["/b"]"#, &[r#"[p::PathTemplate::new("/b").literal("/b").finish()]"#]);
    }

    #[test]
    fn a_list_that_is_known_later_is_spread() {
        check(
            r#"["/a", ..orders.iter().map(path_of), ..more]"#,
            &[concat!(
                r#"p::Paths::new().one(p::PathTemplate::new("/a").literal("/a").finish())"#,
                ".each(orders.iter().map(path_of)).each(more).finish()",
            )],
        );
        let spread = "a list of paths is spread in an array: `path = [..orders]`";
        check("..orders", &[spread]);
        check("[..=orders]", &[spread]);
    }

    #[test]
    fn every_bad_element_is_reported() {
        check(
            r#"["/a", 7, "b", ["/c"], "/a", &[PATH; 2]]"#,
            &[
                "`path` takes strings, for example `path = \"/orders/{id}\"`",
                "the path \"b\" is relative: start it with a `/`",
                "arrays of paths do not nest: list all paths in one array",
                "this path is in the array twice",
                "arrays of paths do not nest: list all paths in one array",
            ],
        );
    }

    #[test]
    fn a_path_without_quotes_is_refused() {
        check("/orders/{id}", &["a path is a string: quote it, for example `path = \"/orders/{id}\"`"]);
    }

    #[test]
    fn arrays_that_lock_nothing_or_one_path_again_are_refused() {
        check("[]", &[&format!("an empty array locks nothing: {EXAMPLE}")]);
        check(r#"["/a"; 2]"#, &[&format!("the same path cannot be locked twice: {EXAMPLE}")]);
        check(r#"&["/a", "/b"]"#, &[&format!("write the array of paths without `&`: {EXAMPLE}")]);
    }
}

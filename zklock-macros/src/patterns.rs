//! The patterns of arguments, and the names that they bind.

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::{ToTokens, quote_spanned};
use syn::ext::IdentExt;
use syn::visit_mut::{self, VisitMut};
use syn::{FnArg, Pat, PatIdent, Signature};

use crate::syntax::{flat, mixed};

/// Returns the names that the arguments bind, and `self`.
pub(crate) fn names(sig: &Signature) -> Vec<Ident> {
    let mut names = Vec::new();
    for arg in &sig.inputs {
        match arg {
            FnArg::Receiver(receiver) => names.push(receiver.self_token.into()),
            FnArg::Typed(arg) => names.extend(names_in(&arg.pat).into_iter().map(|name| name.ident.clone())),
        }
    }
    names
}

/// Returns the names that a pattern binds.
pub(crate) fn names_in(pat: &Pat) -> Vec<&PatIdent> {
    let own = match pat {
        Pat::Ident(name) => Some(name),
        _ => None,
    };
    own.into_iter().chain(inner(pat).into_iter().flat_map(names_in)).collect()
}

/// Tells whether an argument is a pattern that may bind names out of view, as a macro does.
pub(crate) fn binds_out_of_view(sig: &Signature) -> bool {
    sig.inputs.iter().any(|arg| matches!(arg, FnArg::Typed(arg) if is_opaque(&arg.pat)))
}

fn is_opaque(pat: &Pat) -> bool {
    matches!(pat, Pat::Macro(_) | Pat::Verbatim(_)) || inner(pat).into_iter().any(is_opaque)
}

/// Returns the patterns in a pattern. All cases of a pattern bind the same names, so the first one stands for them.
fn inner(pat: &Pat) -> Vec<&Pat> {
    match pat {
        Pat::Ident(name) => name.subpat.iter().map(|(_, pat)| &**pat).collect(),
        Pat::Or(or) => or.cases.first().into_iter().collect(),
        Pat::Paren(paren) => vec![&paren.pat],
        Pat::Reference(reference) => vec![&reference.pat],
        Pat::Slice(slice) => slice.elems.iter().collect(),
        Pat::Struct(fields) => fields.fields.iter().map(|field| &*field.pat).collect(),
        Pat::Tuple(tuple) => tuple.elems.iter().collect(),
        Pat::TupleStruct(tuple) => tuple.elems.iter().collect(),
        _ => Vec::new(),
    }
}

/// Tells whether the tokens use a name that the pattern may bind.
pub(crate) fn uses_any(tokens: &TokenStream, pat: &Pat) -> bool {
    let in_pat = flat(pat.to_token_stream());
    in_pat.iter().any(|token| matches!(token, TokenTree::Ident(name) if uses(tokens, name)))
}

/// Tells whether the tokens use the name, possibly between the braces of a format string.
pub(crate) fn uses(tokens: &TokenStream, name: &Ident) -> bool {
    flat(tokens.clone()).iter().any(|token| match token {
        TokenTree::Ident(ident) => ident == name,
        TokenTree::Literal(literal) => is_between_braces(&literal.to_string(), name),
        TokenTree::Group(_) | TokenTree::Punct(_) => false,
    })
}

fn is_between_braces(text: &str, name: &Ident) -> bool {
    let mut inside = text.split('{').skip(1).filter_map(|text| text.split('}').next());
    inside.any(|text| is_word_in(text, name))
}

/// Tells whether the name is one of the words of a text.
pub(crate) fn is_word_in(text: &str, name: &Ident) -> bool {
    let mut words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
    words.any(|word| name.unraw() == word)
}

/// Tells whether the user says that an argument is unused.
pub(crate) fn is_unused(name: &Ident) -> bool {
    name.to_string().starts_with('_')
}

/// A pattern with several cases needs parentheses in an argument and in a `let`, but not in an arm.
pub(crate) fn without_parentheses(pat: &Pat) -> &Pat {
    match pat {
        Pat::Paren(paren) => without_parentheses(&paren.pat),
        pat => pat,
    }
}

pub(crate) fn named(ident: Ident) -> PatIdent {
    PatIdent { attrs: Vec::new(), by_ref: None, mutability: None, ident, subpat: None }
}

/// Returns the pattern without `mut`, which the compiler would report where nothing is changed.
pub(crate) fn without_mut(pat: &Pat) -> Pat {
    struct Immutable;
    impl VisitMut for Immutable {
        fn visit_pat_ident_mut(&mut self, name: &mut PatIdent) {
            name.mutability = name.mutability.filter(|_| name.by_ref.is_some());
            visit_mut::visit_pat_ident_mut(self, name);
        }
    }
    let mut pat = pat.clone();
    Immutable.visit_pat_mut(&mut pat);
    pat
}

/// Generates an expression that uses all names of a pattern, so that the compiler does not report them twice.
pub(crate) fn used(pat: &Pat) -> TokenStream {
    let names = names_in(pat).into_iter().map(|name| &name.ident).filter(|name| !is_unused(name));
    quote_spanned!(mixed()=> (#(&#names,)*))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_in_patterns_are_found() {
        let sig: Signature = syn::parse_str(
            "fn f(self, a: A, (mut b, [c, ..]): B, P { d, y: &e, .. }: P, Q(f @ (_, g)): Q, (Ok(h) | Err(h)): H)",
        )
        .unwrap();
        let names: Vec<_> = names(&sig).iter().map(Ident::to_string).collect();
        assert_eq!(names.join(" "), "self a b c d e f g h");
    }

    #[test]
    fn a_name_is_used_in_expressions_and_in_format_strings() {
        let uses = |text: &str, name| uses(&text.parse().unwrap(), &syn::parse_str(name).unwrap());
        assert!(uses("f({ id })", "id"));
        assert!(uses("format!(\"/orders/{id:>8}\")", "id") && uses("\"/{r#type.id}\"", "r#type"));
        assert!(!uses("\"/id/{ids}/id\"", "id") && !uses("ids", "id"));
    }
}

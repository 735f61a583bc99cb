//! The patterns of arguments.

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote_spanned;
use syn::visit_mut::{self, VisitMut};
use syn::{Pat, PatIdent};

use crate::bound::names_in;

/// Tells whether the user says that an argument is unused.
pub(super) fn is_unused(name: &Ident) -> bool {
    name.to_string().starts_with('_')
}

/// A pattern with several cases needs parentheses in an argument and in a `let`, but not in an arm.
pub(super) fn without_parentheses(pat: &Pat) -> &Pat {
    match pat {
        Pat::Paren(paren) => without_parentheses(&paren.pat),
        pat => pat,
    }
}

pub(super) fn named(ident: Ident) -> PatIdent {
    PatIdent { attrs: Vec::new(), by_ref: None, mutability: None, ident, subpat: None }
}

/// Returns the pattern without `mut`, which the compiler would report where nothing is changed.
pub(super) fn without_mut(pat: &Pat) -> Pat {
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
pub(super) fn used(pat: &Pat) -> TokenStream {
    let names = names_in(pat).into_iter().map(|name| &name.ident).filter(|name| !is_unused(name));
    quote_spanned!(Span::mixed_site()=> (#(&#names,)*))
}

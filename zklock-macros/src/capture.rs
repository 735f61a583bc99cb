//! Makes the body capture the arguments of its function.
//!
//! An `async move` block captures only the variables that it mentions, and of these only the fields that it
//! uses. The rest would be dropped after the lock is released. The body therefore mentions every argument as
//! a whole.
//!
//! Uses no other module.

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::quote;
use syn::{Attribute, FnArg, Pat, ReceiverKind, Signature};

/// Generates statements without effect that mention the arguments, except the unused ones. An argument counts
/// as used if its name occurs in `mentioned_in`, is `self` or starts with an underscore.
pub(crate) fn statements(sig: &Signature, mentioned_in: &[&TokenStream]) -> TokenStream {
    let mut bindings = Vec::new();
    for arg in &sig.inputs {
        match arg {
            FnArg::Receiver(receiver) if matches!(receiver.kind, ReceiverKind::Reference(..)) => {}
            FnArg::Receiver(receiver) => bindings.push((&receiver.attrs[..], receiver.self_token.into())),
            FnArg::Typed(arg) => bind(&arg.pat, &arg.attrs, &mut bindings),
        }
    }
    // Mentioning an unused argument would suppress the compiler's warning about it.
    bindings.retain(|(_, name)| is_exempt(name) || mentioned_in.iter().any(|tokens| mentions(tokens, name)));
    bindings
        .into_iter()
        .map(|(attrs, name)| {
            let cfgs = attrs.iter().filter(|attr| attr.path().is_ident("cfg"));
            quote!(#(#cfgs)* let _ = &#name;)
        })
        .collect()
}

/// Returns the names that the arguments bind, and `self`.
pub(crate) fn names(sig: &Signature) -> Vec<Ident> {
    let mut bindings = Vec::new();
    for arg in &sig.inputs {
        match arg {
            FnArg::Receiver(receiver) => bindings.push((&receiver.attrs[..], receiver.self_token.into())),
            FnArg::Typed(arg) => bind(&arg.pat, &arg.attrs, &mut bindings),
        }
    }
    bindings.into_iter().map(|(_, name)| name).collect()
}

type Binding<'a> = (&'a [Attribute], Ident);

fn bind<'a>(pat: &'a Pat, attrs: &'a [Attribute], found: &mut Vec<Binding<'a>>) {
    if let Pat::Ident(name) = pat {
        found.push((attrs, name.ident.clone()));
    }
    inner(pat).into_iter().for_each(|pat| bind(pat, attrs, found));
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

fn is_exempt(name: &Ident) -> bool {
    name == "self" || name.to_string().starts_with('_')
}

fn mentions(tokens: &TokenStream, name: &Ident) -> bool {
    tokens.clone().into_iter().any(|token| match token {
        TokenTree::Ident(ident) => ident == *name,
        TokenTree::Group(group) => mentions(&group.stream(), name),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(sig: &str, body: &str, expected: &str) {
        let sig: Signature = syn::parse_str(sig).unwrap();
        let shown = statements(&sig, &[&body.parse().unwrap()]).to_string();
        assert_eq!(shown.replace("let _ = & ", "").replace(' ', ""), expected);
    }

    #[test]
    fn used_arguments_are_mentioned() {
        check("fn f(a: A, mut b: B)", "g(a, { b.c })", "a;b;");
        check(
            "fn f((a, [b, ..]): A, P { x, y: &z, .. }: P, Q(q @ (_, r)): Q)",
            "a b x z q r",
            "a;b;x;z;q;r;",
        );
        check("fn f((Ok(a) | Err(a)): Result<A, A>)", "a", "a;");
    }

    #[test]
    fn unused_arguments_are_left_to_the_compiler() {
        check("fn f(a: A, _b: B, _: C)", "", "_b;");
    }

    #[test]
    fn receivers_by_value_are_mentioned() {
        check("fn f(self)", "", "self;");
        check("fn f(self: Arc<Self>)", "", "self;");
        check("fn f(&self)", "self", "");
        check("fn f(&mut self)", "self", "");
    }

    #[test]
    fn conditional_arguments_stay_conditional() {
        check("fn f(#[cfg(unix)] #[allow(unused)] a: A)", "a", "#[cfg(unix)]a;");
    }
}

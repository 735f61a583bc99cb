//! Reads the function under `#[zklock::test]`. The body is kept as raw tokens, so that an incomplete body, as
//! in an editor, still expands.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::parse::{Parse, ParseStream};
use syn::{Attribute, Error, FnArg, PatType, Result, Signature, Token, Type, Visibility, braced, token};

use crate::syntax::{Errors, ungroup_type};

/// An `async fn` that a test can call: it has neither a receiver nor generics.
pub(crate) struct TestFn {
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) vis: Visibility,
    pub(crate) sig: Signature,
    pub(crate) inner_attrs: Vec<Attribute>,
    pub(crate) brace: token::Brace,
    pub(crate) body: TokenStream,
}

impl Parse for TestFn {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let attrs = input.call(Attribute::parse_outer)?;
        let vis = input.parse()?;
        let start = input.span();
        let sig: Signature =
            input.parse().map_err(|_| Error::new(start, "`#[zklock::test]` goes on an `async fn`"))?;
        if input.peek(Token![;]) {
            return Err(Error::new(sig.ident.span(), "there is no body to test"));
        }
        let mut errors = Errors::default();
        errors.keep(check_attrs(&attrs));
        check(&sig, &mut errors);
        errors.finish()?;
        let content;
        let brace = braced!(content in input);
        let inner_attrs = content.call(Attribute::parse_inner)?;
        Ok(Self { attrs, vis, sig, inner_attrs, brace, body: content.parse()? })
    }
}

impl TestFn {
    pub(crate) fn arguments(&self) -> impl Iterator<Item = &PatType> {
        self.sig.inputs.iter().filter_map(|argument| match argument {
            FnArg::Typed(typed) => Some(typed),
            FnArg::Receiver(_) => None,
        })
    }
}

/// Refuses a second test attribute, which would run the body twice, once without a server.
fn check_attrs(attrs: &[Attribute]) -> Result<()> {
    let names_test = |attr: &&Attribute| {
        attr.path().segments.last().is_some_and(|last| last.ident == "test" && last.arguments.is_none())
    };
    match attrs.iter().find(names_test) {
        None => Ok(()),
        Some(second) => {
            Err(Error::new_spanned(second, "this function is already a test: remove this attribute"))
        }
    }
}

fn check(sig: &Signature, errors: &mut Errors) {
    let mut refuse = |at: &dyn ToTokens, message: &str| errors.push(Error::new_spanned(at, message));
    let Signature { constness, asyncness, safety, abi, fn_token, generics, inputs, .. } = sig;
    if asyncness.is_none() {
        refuse(fn_token, "`#[zklock::test]` runs an `async fn`: make it async");
    }
    let parts: [(&dyn ToTokens, &str); 5] = [
        (constness, "a test cannot be `const`"),
        (safety, "a test cannot be `unsafe`: the harness cannot uphold its safety contract"),
        (abi, "a test cannot be `extern`"),
        (generics, "a test cannot be generic"),
        (&generics.where_clause, "a test cannot have a `where` clause"),
    ];
    for (part, message) in parts.into_iter().filter(|(part, _)| !part.to_token_stream().is_empty()) {
        refuse(part, message);
    }
    for argument in inputs {
        match argument {
            FnArg::Receiver(receiver) => refuse(receiver, "a test is a free function without `self`"),
            FnArg::Typed(typed) if matches!(ungroup_type(&typed.ty), Type::ImplTrait(_)) => {
                let message = "an argument of a test needs a concrete type, for example `TestServer`";
                refuse(&typed.ty, message);
            }
            FnArg::Typed(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_that_cannot_be_run_are_refused() {
        let twice = "this function is already a test: remove this attribute";
        let no_function = "`#[zklock::test]` goes on an `async fn`";
        for (input, expected) in [
            ("#[cfg(test)] pub(crate) async fn f((a, b): Pair, _: zk::Client) -> Result<(), E> {}", None),
            ("fn f() {}", Some("`#[zklock::test]` runs an `async fn`: make it async")),
            ("async fn f(&self) {}", Some("a test is a free function without `self`")),
            ("async fn f<T>(t: T) {}", Some("a test cannot be generic")),
            ("async fn f() where u8: Copy {}", Some("a test cannot have a `where` clause")),
            (
                "async unsafe fn f() {}",
                Some("a test cannot be `unsafe`: the harness cannot uphold its safety contract"),
            ),
            ("async extern \"C\" fn f() {}", Some("a test cannot be `extern`")),
            (
                "async fn f(zk: impl Sized) {}",
                Some("an argument of a test needs a concrete type, for example `TestServer`"),
            ),
            ("async fn f();", Some("there is no body to test")),
            ("struct S;", Some(no_function)),
            ("mod m {}", Some(no_function)),
            ("impl S {}", Some(no_function)),
            ("|x| {}", Some(no_function)),
            ("", Some(no_function)),
            ("#[test] async fn f() {}", Some(twice)),
            ("#[tokio::test(flavor = \"multi_thread\")] async fn f() {}", Some(twice)),
        ] {
            let refused = syn::parse_str::<TestFn>(input).err().map(|error| error.to_string());
            assert_eq!(refused.as_deref(), expected, "{input}");
        }
    }
}

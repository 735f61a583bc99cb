//! Checks that a function that is not async does not hide an async body.
//!
//! Uses only `grouped` and `kind`.

use proc_macro2::{TokenStream, TokenTree};
use syn::{Error, GenericArgument, PathArguments, Result, ReturnType, Signature, Type, TypeParamBound};

use crate::grouped::ungroup_type;
use crate::kind::Kind;

/// Refuses a function that returns a future: the work in it would be done after the function has returned.
pub(crate) fn check_output(sig: &Signature, kind: Kind) -> Result<()> {
    match &sig.output {
        ReturnType::Type(_, ty) if is_future(ty) => {
            let message = format!(
                "the future that this function returns would not {}\nmake it an `async fn`",
                kind.then()
            );
            Err(Error::new_spanned(ty, message))
        }
        _ => Ok(()),
    }
}

/// Refuses a function that another attribute has made synchronous by running its async body on a runtime.
pub(crate) fn check_body(sig: &Signature, body: &TokenStream, kind: Kind) -> Result<()> {
    if !is_made_by_tokio(body) && !is_made_by_us(body) {
        return Ok(());
    }
    let message = format!(
        "another attribute, such as `#[tokio::main]`, made this function synchronous\nput {} above that one",
        kind.name()
    );
    Err(Error::new(sig.ident.span(), message))
}

fn is_future(ty: &Type) -> bool {
    match ungroup_type(ty) {
        Type::ImplTrait(ty) => ty.bounds.iter().any(names_future),
        Type::TraitObject(ty) => ty.bounds.iter().any(names_future),
        Type::Path(ty) => ty.path.segments.last().is_some_and(|last| {
            let wraps = || match &last.arguments {
                PathArguments::AngleBracketed(arguments) => arguments.args.iter().any(is_argument_future),
                _ => false,
            };
            ["BoxFuture", "LocalBoxFuture"].iter().any(|name| last.ident == name)
                || (["Pin", "Box"].iter().any(|name| last.ident == name) && wraps())
        }),
        _ => false,
    }
}

fn is_argument_future(argument: &GenericArgument) -> bool {
    matches!(argument, GenericArgument::Type(ty) if is_future(ty))
}

fn names_future(bound: &TypeParamBound) -> bool {
    match bound {
        TypeParamBound::Trait(bound) => bound.path.segments.last().is_some_and(|last| last.ident == "Future"),
        _ => false,
    }
}

/// Recognises `let body = async { … }; … .expect("Failed building the Runtime").block_on(body)`. The text tells it
/// from a function of the user's that runs a future.
fn is_made_by_tokio(body: &TokenStream) -> bool {
    let start: Vec<_> = body.clone().into_iter().take(4).map(|token| token.to_string()).collect();
    start == ["let", "body", "=", "async"] && mentions(body, "block_on") && mentions(body, BUILDING)
}

const BUILDING: &str = "\"Failed building the Runtime\"";

/// Recognises `… .run(async |__server| …)`, which `#[zklock::test]` generates.
fn is_made_by_us(body: &TokenStream) -> bool {
    mentions(body, "__server")
}

fn mentions(tokens: &TokenStream, name: &str) -> bool {
    tokens.clone().into_iter().any(|token| match token {
        TokenTree::Ident(ident) => ident == name,
        TokenTree::Literal(literal) => literal.to_string() == name,
        TokenTree::Group(group) => mentions(&group.stream(), name),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(output: &str, expected: bool) {
        assert_eq!(is_future(&syn::parse_str(output).unwrap()), expected, "{output}");
    }

    #[test]
    fn futures_are_recognised() {
        check("impl Future<Output = R> + Send", true);
        check("impl Send + ::core::future::Future<Output = R>", true);
        check("Pin<Box<impl Future<Output = R>>>", true);
        check("std::pin::Pin<Box<(dyn Future<Output = R> + Send)>>", true);
        check("Box<dyn Future<Output = R> + Unpin>", true);
        check("futures::future::BoxFuture<'_, R>", true);
    }

    #[test]
    fn other_types_are_not() {
        for output in
            ["R", "Result<Box<dyn Error>, E>", "impl Iterator<Item = Future>", "Pin<Box<T>>", "Box<u8>"]
        {
            check(output, false);
        }
    }

    #[test]
    fn a_function_that_runs_a_future_is_not_taken_for_one_that_another_attribute_made() {
        let sig: Signature = syn::parse_str("fn f() -> R").unwrap();
        let is_refused =
            |body: &str| check_body(&sig, &body.parse().unwrap(), Kind::DistributedLock).is_err();
        assert!(is_refused(
            "let body = async { go().await };
             { return Builder::new().build().expect(\"Failed building the Runtime\").block_on(body); }"
        ));
        assert!(!is_refused("let body = async { go().await }; runtime.block_on(body)"));
        assert!(is_refused("async fn f() {} Harness::new().run(async |__server| f().await)"));
        assert!(!is_refused("runtime.block_on(async { go().await })"));
        assert!(!is_refused("let body = async { go().await }; Ok(())"));
    }
}

//! Checks that a function that is not async does not hide an async body.
//!
//! Uses only `kind`.

use proc_macro2::{TokenStream, TokenTree};
use syn::{Error, Result, Signature};

use crate::kind::Kind;

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

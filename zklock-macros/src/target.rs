//! Reads the function under the attribute. The body is kept as raw tokens, so that an incomplete body, as in
//! an editor, still expands.

use proc_macro2::{Ident, TokenStream};
use syn::ext::IdentExt;
use syn::parse::ParseStream;
use syn::spanned::Spanned;
use syn::{Attribute, Error, LitStr, Path, Result, ReturnType, Signature, Token, Visibility, braced, token};

use crate::boxed::{self, Boxed};
use crate::names::Kind;
use crate::outliving::{self, Body};
use crate::syntax::{Errors, flat, returns_nothing};

/// A function with a body, which has passed the checks of its attribute.
pub(crate) struct Target {
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) vis: Visibility,
    pub(crate) defaultness: Option<Token![default]>,
    pub(crate) sig: Signature,
    /// The return type of the body. Under `#[async_trait]` it is the output of the future that the function
    /// returns.
    pub(crate) output: ReturnType,
    pub(crate) inner_attrs: Vec<Attribute>,
    pub(crate) form: Form,
    /// The braces of the function.
    pub(crate) outer_brace: token::Brace,
    /// The braces of the body. Under `#[async_trait]` they are those of its `async` block.
    pub(crate) brace: token::Brace,
    pub(crate) body: TokenStream,
}

/// Whether a function must be able to return the error of its lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reports {
    Errors,
    /// The traits `OnSkip` and `OnFailure` of the facade check the return type.
    WhatItCan,
}

/// How a function runs its body.
pub(crate) enum Form {
    Async,
    /// As `#[async_trait]` generates it. The path is that of the function that boxes the body.
    Boxed(Path),
    Sync,
}

impl Target {
    /// Reads the function under the attribute `kind`.
    pub(crate) fn read(input: ParseStream<'_>, kind: Kind, reports: Reports) -> Result<Self> {
        let attrs = input.call(Attribute::parse_outer)?;
        let vis = input.parse()?;
        if let Some(error) = not_a_function(input, kind) {
            return Err(error);
        }
        let defaultness = input.parse()?;
        let sig: Signature = input.parse()?;
        if input.peek(Token![;]) {
            return Err(Error::new(sig.ident.span(), no_body(kind)));
        }
        let boxed_output = boxed::output(&sig);
        check(&attrs, &sig, boxed_output.as_ref(), (kind, reports))?;
        let content;
        let outer_brace = braced!(content in input);
        let inner_attrs = content.call(Attribute::parse_inner)?;
        let (form, brace, body) = match &boxed_output {
            None if sig.asyncness.is_some() => (Form::Async, outer_brace, content.parse()?),
            None => {
                let body = content.parse()?;
                check_body(&sig, &body, kind)?;
                (Form::Sync, outer_brace, body)
            }
            Some(_) => {
                let Boxed { by, brace, body } = content.parse()?;
                (Form::Boxed(by), brace, body)
            }
        };
        let output = boxed_output.unwrap_or_else(|| sig.output.clone());
        Ok(Self { attrs, vis, defaultness, sig, output, inner_attrs, form, outer_brace, brace, body })
    }
}

fn no_body(kind: Kind) -> String {
    let (name, then) = (kind.name(), kind.then());
    format!("there is no body to {then}\nput {name} on the method in the `impl` instead")
}

/// Returns the error about an item that is not a function.
fn not_a_function(input: ParseStream<'_>, kind: Kind) -> Option<Error> {
    let ahead = input.fork();
    loop {
        let qualifier: Ident = match ahead.call(Ident::parse_any) {
            Ok(word) if word == "fn" => return None,
            Ok(word) => word,
            Err(error) => {
                return Some(Error::new(error.span(), format!("{} goes on a function", kind.name())));
            }
        };
        let _abi = ahead.parse::<Option<LitStr>>();
        if !["const", "async", "safe", "unsafe", "extern", "default"].iter().any(|word| qualifier == word) {
            return Some(misplaced(&qualifier, kind));
        }
    }
}

fn misplaced(word: &Ident, kind: Kind) -> Error {
    let name = kind.name();
    let message = match word.to_string().as_str() {
        "impl" | "trait" | "mod" => {
            format!("{name} does not reach inside `{word}`: put it on each function in there")
        }
        _ => format!("{name} goes on a function"),
    };
    Error::new(word.span(), message)
}

const NO_CALLER: &str = "`#[track_caller]` would have no effect: the body runs in a closure, and closures cannot have it\n\
                         remove it, or take the caller's location before the call and pass it on";

fn check(
    attrs: &[Attribute],
    sig: &Signature,
    boxed_output: Option<&ReturnType>,
    (kind, reports): (Kind, Reports),
) -> Result<()> {
    let first = kind.first();
    let mut errors = Errors::default();
    if let Some(constness) = sig.constness {
        let message = format!("a `const fn` cannot {first}: remove the `const`");
        errors.push(Error::new_spanned(constness, message));
    }
    let body = if sig.asyncness.is_some() || boxed_output.is_some() { Body::Async } else { Body::Sync };
    let output = boxed_output.unwrap_or(&sig.output);
    errors.keep(outliving::check_output(output, body, kind));
    if let Body::Sync = body
        && let Some(attr) = attrs.iter().find(|attr| attr.path().is_ident("track_caller"))
    {
        errors.push(Error::new_spanned(attr, NO_CALLER));
    }
    if let Some(abi) = &sig.abi {
        errors.push(Error::new_spanned(abi, format!("an `extern` function cannot {first}")));
    }
    if reports == Reports::Errors {
        errors.keep(check_output(&sig.ident, output));
    }
    errors.finish()
}

/// Refuses a function that returns nothing. For all other types, the trait `Carries` of the facade decides.
fn check_output(name: &Ident, output: &ReturnType) -> Result<()> {
    if !returns_nothing(output) {
        return Ok(());
    }
    let message = format!(
        "`{name}` has no way to report that it did not acquire the lock, or lost it\n\
         return `Result<(), E>` where `E: From<zklock::LockError>`"
    );
    let at = match output {
        ReturnType::Default => name.span(),
        ReturnType::Type(_, ty) => ty.span(),
    };
    Err(Error::new(at, message))
}

/// Refuses a function that another attribute has made synchronous by running its async body on a runtime.
fn check_body(sig: &Signature, body: &TokenStream, kind: Kind) -> Result<()> {
    // `#[zklock::test]` generates `… .run(async |__server| …)`.
    if !is_made_by_tokio(body) && !mentions(body, "__server") {
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

fn mentions(tokens: &TokenStream, name: &str) -> bool {
    flat(tokens.clone()).iter().any(|token| token.to_string() == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use syn::parse::Parser;

    #[track_caller]
    fn check(kind: Kind, input: &str, expected: &[&str]) {
        let reports = match kind {
            Kind::DistributedLock => Reports::Errors,
            Kind::LeaderOnly => Reports::WhatItCan,
        };
        let read = |input: ParseStream<'_>| Target::read(input, kind, reports);
        let errors: Vec<_> = match read.parse_str(input) {
            Ok(_) => Vec::new(),
            Err(error) => error.into_iter().map(|one| one.to_string()).collect(),
        };
        assert_eq!(errors, expected, "{input}");
    }

    const NO_ERROR: &str = "`f` has no way to report that it did not acquire the lock, or lost it\n\
                            return `Result<(), E>` where `E: From<zklock::LockError>`";

    #[test]
    fn functions_that_may_have_an_error_are_accepted_also_while_they_are_typed() {
        for input in [
            "default async fn f(self: Arc<Self>) -> impl Reply {}",
            "#[track_caller] async fn f() -> R {}",
            "async fn f() -> R { let x = self. }",
            "fn f<'a>(&'a self) -> Pin<Box<dyn Future<Output = R> + 'a>> { Box::pin(async move { g(self).await }) }",
        ] {
            check(Kind::DistributedLock, input, &[]);
        }
        // The compiler decides whether a type can have one.
        for output in
            ["Response", "<T as Service>::Reply", "my::Option<u8>", "Option<u8>", "u8", "R!()", "(u8, E)"]
        {
            check(Kind::DistributedLock, &format!("async fn f() -> {output} {{}}"), &[]);
        }
        for output in ["", "-> ()", "-> Option<u8>", "-> u8"] {
            check(Kind::LeaderOnly, &format!("async fn f() {output} {{}}"), &[]);
            check(Kind::LeaderOnly, &format!("fn f() {output} {{}}"), &[]);
        }
    }

    #[test]
    fn a_function_that_cannot_run_under_a_lock_is_refused() {
        let inside = |word| {
            format!("`#[distributed_lock]` does not reach inside `{word}`: put it on each function in there")
        };
        let (item, no_body) = ("`#[distributed_lock]` goes on a function", no_body(Kind::DistributedLock));
        let no_const = "a `const fn` cannot wait for a lock: remove the `const`";
        for (input, expected) in [
            ("const fn f() -> R {}", &[no_const][..]),
            ("const fn f() {}", &[no_const, NO_ERROR]),
            ("async extern \"C\" fn f() -> R {}", &["an `extern` function cannot wait for a lock"]),
            ("async fn f() -> R;", &[&no_body]),
            ("fn f() -> Pin<Box<dyn Future<Output = R>>>;", &[&no_body]),
            ("#[track_caller] fn f() -> R {}", &[NO_CALLER]),
            ("fn f() {}", &[NO_ERROR]),
            ("async fn f() -> () {}", &[NO_ERROR]),
            ("fn f() -> Pin<Box<dyn Future<Output = ()>>> { Box::pin(async move {}) }", &[NO_ERROR]),
            ("unsafe impl Foo for Bar {}", &[&inside("impl")]),
            ("pub trait Foo {}", &[&inside("trait")]),
            ("mod foo {}", &[&inside("mod")]),
            ("struct Foo;", &[item]),
            ("const X: u8 = 1;", &[item]),
            ("async move |x| {}", &[item]),
            ("|x| {}", &[item]),
            ("extern \"C\" {}", &[item]),
        ] {
            check(Kind::DistributedLock, input, expected);
        }
        let no_const = "a `const fn` cannot ask who leads: remove the `const`";
        check(Kind::LeaderOnly, "const fn f() {}", &[no_const]);
        check(Kind::LeaderOnly, "struct S;", &["`#[leader_only]` goes on a function"]);
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

//! Expands `#[zklock::test]`, which gives a test its own server and client.
//!
//! The attribute generates:
//!
//! ```text
//! #[test]
//! fn a_busy_order_is_reported() {
//!     Harness::new().run(async |server| {
//!         let zk: TestServer = TestServer::from(server);
//!         …
//!     })
//! }
//! ```

mod target;

use std::time::Duration;

use proc_macro2::{Delimiter, Group, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::parse::{Parse, ParseStream};
use syn::spanned::Spanned;
use syn::{Error, Expr, LitStr, Pat, PatType, Result, Signature};

use crate::args::{List, krate};
use crate::duration;
use crate::syntax::{Errors, braced, erased_output, mixed, module, number, string};
use target::TestFn;

/// Generates the test. If anything fails, returns the item as it was, followed by all errors.
pub(crate) fn test(args: TokenStream, item: TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let parsed_args = errors.keep(syn::parse2::<TestArgs>(args));
    let parsed_item = errors.keep(syn::parse2::<TestFn>(item.clone()));
    if let (Some(args), Some(target)) = (&parsed_args, &parsed_item) {
        return harnessed(args, target);
    }
    // Without the generated test the function is not called, so the compiler would also warn about dead code.
    let permitted = parsed_item.map(|_| quote!(#[allow(dead_code)]));
    let errors = errors.to_compile_errors();
    quote!(#permitted #item #errors)
}

/// Generates a test function that calls the body in a harness.
fn harnessed(args: &TestArgs, target: &TestFn) -> TokenStream {
    let TestFn { attrs, vis, sig, inner_attrs, brace, body, .. } = target;
    let Signature { fn_token, ident: name, output, .. } = sig;
    let (harness, erased) = (harness(args), erased_output(output));
    let arguments = target.arguments().enumerate().map(|(at, typed)| argument(args, typed, at));
    let mut inside = Group::new(Delimiter::Brace, body.clone());
    inside.set_span(mixed().located_at(brace.span.join()));
    let block = braced(
        *brace,
        quote_spanned! {mixed()=>
            #(#inner_attrs)*
            #harness.run(async |__server| -> #erased { #(#arguments)* #inside })
        },
    );
    quote_spanned! {mixed()=>
        #(#attrs)*
        #[::core::prelude::v1::test]
        #vis #fn_token #name() #output #block
    }
}

fn harness(args: &TestArgs) -> TokenStream {
    let testing = module(args.krate.as_ref(), "testing", mixed());
    let flavor = match args.flavor {
        Flavor::CurrentThread => None,
        Flavor::MultiThread(None) => Some(quote!(.multi_thread())),
        Flavor::MultiThread(Some(threads)) => Some(quote!(.worker_threads(#threads))),
    };
    let session_timeout = args.session_timeout.map(|timeout| {
        let timeout = duration::expand(timeout);
        quote!(.session_timeout(#timeout))
    });
    quote!(#testing::Harness::new() #flavor #session_timeout)
}

/// Generates the statements that bind an argument. Its value is located at the type of the argument, where the compiler
/// then reports a type that cannot be an argument of a test.
fn argument(args: &TestArgs, PatType { attrs, pat, ty, .. }: &PatType, at: usize) -> TokenStream {
    let span = mixed().located_at(ty.span());
    let testing = module(args.krate.as_ref(), "testing", span);
    let value = quote_spanned!(span=> <#ty as #testing::FromTestServer>::from_test_server(&__server).await);
    if let Pat::Ident(_) = **pat {
        return quote_spanned!(mixed()=> #(#attrs)* let #pat = #value;);
    }
    // A part that the pattern does not bind lives as long as the others.
    let whole = format_ident!("__argument_{at}", span = mixed());
    quote_spanned!(mixed()=> #(#attrs)* let #whole = #value; #(#attrs)* let #pat = #whole;)
}

/// The arguments of `#[zklock::test]`.
#[derive(Default)]
struct TestArgs {
    flavor: Flavor,
    session_timeout: Option<Duration>,
    krate: Option<syn::Path>,
}

/// The flavor of the test's runtime.
#[derive(Clone, Copy, Default)]
enum Flavor {
    #[default]
    CurrentThread,
    MultiThread(Option<usize>),
}

const NAMES: [&str; 4] = ["flavor", "worker_threads", "session_timeout", "crate"];

impl Parse for TestArgs {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let mut list = List::read(input, &NAMES, "session_timeout = \"3s\"")?;
        let threads = list.value("worker_threads", |value| Ok((worker_threads(value)?, value.clone())));
        let flavor = match (list.value("flavor", flavor).unwrap_or_default(), threads) {
            (flavor, None) => flavor,
            (Flavor::MultiThread(_), Some((count, _))) => Flavor::MultiThread(Some(count)),
            (Flavor::CurrentThread, Some((_, at))) => {
                let message = "`worker_threads` needs `flavor = \"multi_thread\"`";
                list.errors.push(Error::new_spanned(at, message));
                Flavor::CurrentThread
            }
        };
        let session_timeout = list.value("session_timeout", session_timeout);
        let krate = list.value("crate", krate);
        list.errors.finish().map(|()| Self { flavor, session_timeout, krate })
    }
}

fn flavor(value: &Expr) -> Result<Flavor> {
    match string(value).map(LitStr::value).as_deref() {
        Some("current_thread") => Ok(Flavor::CurrentThread),
        Some("multi_thread") => Ok(Flavor::MultiThread(None)),
        _ => {
            let message = "`flavor` is \"current_thread\", the default, or \"multi_thread\"";
            Err(Error::new_spanned(value, message))
        }
    }
}

fn worker_threads(value: &Expr) -> Result<usize> {
    let count = number(value).and_then(|count| usize::try_from(count).ok());
    count
        .filter(|count| *count > 0)
        .ok_or_else(|| Error::new_spanned(value, "`worker_threads` takes a number of at least 1"))
}

fn session_timeout(value: &Expr) -> Result<Duration> {
    let text = string(value).ok_or_else(|| {
        Error::new_spanned(value, "`session_timeout` takes a string: `session_timeout = \"3s\"`")
    })?;
    let timeout = duration::parse(text)?;
    if timeout >= SHORTEST_SESSION {
        return Ok(timeout);
    }
    Err(Error::new(text.span(), format!("the session timeout of a test is at least {SHORTEST_SESSION:?}")))
}

/// The shortest session timeout, two ticks of the test's server.
const SHORTEST_SESSION: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(args: &str, item: &str) -> String {
        test(args.parse().unwrap(), item.parse().unwrap()).to_string()
    }

    #[test]
    fn the_function_stays_beside_an_error() {
        let shown = shown("threads = 3", "async fn pays() {}").replace(' ', "");
        let function = "#[allow(dead_code)]asyncfnpays(){}::core::compile_error!{";
        assert!(shown.starts_with(&format!("{function}\"unknownargument`threads`")), "{shown}");
    }

    #[test]
    fn mistakes_on_both_sides_are_reported() {
        let shown = shown("flavor = 7", "fn pays() {}");
        assert!(shown.contains("`flavor` is") && shown.contains("make it async"), "{shown}");
    }

    #[test]
    fn a_body_that_is_still_typed_is_kept() {
        let shown = shown("", "async fn pays(zk: TestServer) { zk. }");
        assert!(shown.contains("{ zk . }"), "{shown}");
    }

    #[track_caller]
    fn check_args(input: &str, expected: Option<&str>) {
        let errors = syn::parse_str::<TestArgs>(input).err().map(|error| error.to_string());
        assert_eq!(errors.as_deref(), expected, "{input}");
    }

    #[test]
    fn each_mistake_in_the_arguments_is_named() {
        check_args(
            r#"flavor = "multi_thread", worker_threads = 2, session_timeout = "3s", crate = "zk","#,
            None,
        );
        let flavors = "`flavor` is \"current_thread\", the default, or \"multi_thread\"";
        let threads = "`worker_threads` takes a number of at least 1";
        let known = "the arguments are `flavor`, `worker_threads`, `session_timeout`, `crate`";
        for (input, expected) in [
            (r#"flavor = "multi""#, flavors),
            ("flavor = multi_thread", flavors),
            ("worker_threads = 2", "`worker_threads` needs `flavor = \"multi_thread\"`"),
            (r#"flavor = "multi_thread", worker_threads = 0"#, threads),
            (r#"flavor = "multi_thread", worker_threads = -1"#, threads),
            (r#"flavor = "multi_thread", worker_threads = "2""#, threads),
            (r#"flavor = "multi_thread", worker_threads = N"#, threads),
            ("session_timeout = 3", "`session_timeout` takes a string: `session_timeout = \"3s\"`"),
            (r#"session_timeout = "99ms""#, "the session timeout of a test is at least 100ms"),
            (r#"flavour = "x""#, &*format!("unknown argument `flavour`, did you mean `flavor`?\n{known}")),
            ("start_paused = true", &*format!("unknown argument `start_paused`\n{known}")),
            (r#"crate = a, crate = b"#, "`crate` is given twice"),
            (r#""3s""#, "expected an argument, for example `session_timeout = \"3s\"`"),
        ] {
            check_args(input, Some(expected));
        }
    }

    #[test]
    fn the_documented_arguments_are_those_that_are_read() {
        let document = include_str!("../doc/test.md");
        let rows = document.lines().filter(|line| line.starts_with("| `"));
        assert_eq!(rows.count(), NAMES.len());
        for name in NAMES {
            assert!(document.contains(&format!("\n| `{name} = ")), "{name}");
            check_args(name, Some(&format!("`{name}` needs a value: `{name} = …`")));
        }
    }
}

//! Expands `#[zklock::test]`, which gives a test its own server and client.
//!
//! Uses only `args`, `duration` and `syntax`.
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

    #[track_caller]
    fn check(args: &str, item: &str, expected: &str) {
        let shown = test(args.parse().unwrap(), item.parse().unwrap());
        assert_eq!(pretty(&shown.to_string()), pretty(expected));
    }

    fn pretty(file: &str) -> String {
        prettyplease::unparse(&syn::parse_file(file).unwrap())
    }

    #[test]
    fn a_function_becomes_a_test() {
        check(
            "",
            "/// Pays.
            #[ignore]
            async fn pays() { pay().await; }",
            "/// Pays.
            #[ignore]
            #[::core::prelude::v1::test]
            fn pays() {
                ::zklock::testing::Harness::new().run(async |__server| -> () { { pay().await; } })
            }",
        );
    }

    #[test]
    fn every_argument_has_its_place() {
        check(
            r#"flavor = "multi_thread", worker_threads = 3, session_timeout = "1s", crate = crate::zk"#,
            "pub async fn pays(mut zk: TestServer, _: zklock::Client) -> Result<(), E> {
                #![allow(unused)]
                zk.pay()
            }",
            "#[::core::prelude::v1::test]
            pub fn pays() -> Result<(), E> {
                #![allow(unused)]
                crate::zk::testing::Harness::new()
                    .worker_threads(3usize)
                    .session_timeout(::core::time::Duration::new(1u64, 0u32))
                    .run(async |__server| -> Result<(), E> {
                        let mut zk =
                            <TestServer as crate::zk::testing::FromTestServer>::from_test_server(&__server).await;
                        let __argument_1 =
                            <zklock::Client as crate::zk::testing::FromTestServer>::from_test_server(&__server).await;
                        let _ = __argument_1;
                        { zk.pay() }
                    })
            }",
        );
    }

    #[test]
    fn the_function_stays_beside_an_error() {
        check(
            "threads = 3",
            "async fn pays() {}",
            r#"
            #[allow(dead_code)]
            async fn pays() {}
            ::core::compile_error! { "unknown argument `threads`\nthe arguments are `flavor`, `worker_threads`, `session_timeout`, `crate`" }"#,
        );
    }

    #[test]
    fn mistakes_on_both_sides_are_reported() {
        let shown = test(
            quote!(flavor = 7),
            quote!(
                fn pays() {}
            ),
        );
        let shown = shown.to_string();
        assert!(shown.contains("`flavor` is") && shown.contains("make it async"), "{shown}");
    }

    #[test]
    fn a_body_that_is_still_typed_is_kept() {
        let shown = test(TokenStream::new(), quote!(async fn pays(zk: TestServer) { zk. })).to_string();
        assert!(shown.contains("{ zk . }"), "{shown}");
    }

    #[track_caller]
    fn check_args(input: &str, expected: &[&str]) {
        let errors: Vec<_> = match syn::parse_str::<TestArgs>(input) {
            Ok(_) => Vec::new(),
            Err(error) => error.into_iter().map(|one| one.to_string()).collect(),
        };
        assert_eq!(errors, expected, "{input}");
    }

    #[test]
    fn arguments_are_read() {
        check_args("", &[]);
        check_args(r#"flavor = "current_thread""#, &[]);
        check_args(
            r#"flavor = "multi_thread", worker_threads = 2, session_timeout = "3s", crate = "zk","#,
            &[],
        );
    }

    #[test]
    fn flavors_are_those_of_tokio() {
        let refused = "`flavor` is \"current_thread\", the default, or \"multi_thread\"";
        check_args(r#"flavor = "multi""#, &[refused]);
        check_args("flavor = multi_thread", &[refused]);
    }

    #[test]
    fn threads_need_a_runtime_that_has_them() {
        check_args("worker_threads = 2", &["`worker_threads` needs `flavor = \"multi_thread\"`"]);
        for threads in ["0", "-1", "\"2\"", "N"] {
            let input = format!("flavor = \"multi_thread\", worker_threads = {threads}");
            check_args(&input, &["`worker_threads` takes a number of at least 1"]);
        }
    }

    #[test]
    fn session_timeouts_are_durations() {
        check_args("session_timeout = 3", &["`session_timeout` takes a string: `session_timeout = \"3s\"`"]);
        check_args(r#"session_timeout = "99ms""#, &["the session timeout of a test is at least 100ms"]);
    }

    #[test]
    fn the_documented_arguments_are_those_that_are_read() {
        let document = include_str!("../doc/test.md");
        let rows = document.lines().filter(|line| line.starts_with("| `"));
        assert_eq!(rows.count(), NAMES.len());
        for name in NAMES {
            assert!(document.contains(&format!("\n| `{name} = ")), "{name}");
            check_args(name, &[&format!("`{name}` needs a value: `{name} = …`")]);
        }
    }

    #[test]
    fn unknown_and_repeated_arguments_are_refused() {
        let known = "the arguments are `flavor`, `worker_threads`, `session_timeout`, `crate`";
        check_args(
            r#"flavour = "x""#,
            &[&format!("unknown argument `flavour`, did you mean `flavor`?\n{known}")],
        );
        check_args("start_paused = true", &[&format!("unknown argument `start_paused`\n{known}")]);
        check_args(
            r#"session_timeout = "3s", session_timeout = "3s""#,
            &["`session_timeout` is given twice"],
        );
        check_args(r#""3s""#, &["expected an argument, for example `session_timeout = \"3s\"`"]);
        check_args("flavor", &["`flavor` needs a value: `flavor = …`"]);
    }
}

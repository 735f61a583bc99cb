//! Expands `#[zklock::test]`, which gives a test its own server and client.
//!
//! Uses only `duration`, `erased`, `errors`, `grouped`, `names`, `reading` and `shared`.
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

mod args;
mod target;

use proc_macro2::{Delimiter, Group, Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Pat, PatType, Signature};

use crate::duration;
use crate::erased::erased_output;
use crate::errors::Errors;
use crate::shared::Krate;
use args::{Flavor, TestArgs};
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
    let called = parsed_item.map(|TestFn { attrs, sig, .. }| {
        let conditions = attrs.iter().filter(|attr| attr.path().is_ident("cfg"));
        let name = sig.ident;
        quote!(#(#conditions)* const _: () = { let _ = #name; };)
    });
    let errors = errors.to_compile_errors();
    quote!(#item #called #errors)
}

/// Generates a test function that calls the body in a harness.
fn harnessed(args: &TestArgs, target: &TestFn) -> TokenStream {
    let TestFn { attrs, vis, sig, inner_attrs, brace, body, .. } = target;
    let Signature { fn_token, ident: name, output, .. } = sig;
    let (harness, erased) = (harness(args), erased_output(output));
    let arguments = target.arguments().enumerate().map(|(at, typed)| argument(args, typed, at));
    let mut inside = Group::new(Delimiter::Brace, body.clone());
    inside.set_span(Span::mixed_site().located_at(brace.span.join()));
    let mut block = TokenStream::new();
    brace.surround(&mut block, |block| {
        block.extend(quote_spanned! {Span::mixed_site()=>
            #(#inner_attrs)*
            #harness.run(async |__server| -> #erased { #(#arguments)* #inside })
        });
    });
    quote_spanned! {Span::mixed_site()=>
        #(#attrs)*
        #[::core::prelude::v1::test]
        #vis #fn_token #name() #output #block
    }
}

fn harness(args: &TestArgs) -> TokenStream {
    let testing = testing(args, Span::mixed_site());
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
    let span = Span::mixed_site().located_at(ty.span());
    let testing = testing(args, span);
    let value = quote_spanned!(span=> <#ty as #testing::FromTestServer>::from_test_server(&__server).await);
    if let Pat::Ident(_) = **pat {
        return quote_spanned!(Span::mixed_site()=> #(#attrs)* let #pat = #value;);
    }
    // A part that the pattern does not bind lives as long as the others.
    let whole = format_ident!("__argument_{at}", span = Span::mixed_site());
    quote_spanned!(Span::mixed_site()=> #(#attrs)* let #whole = #value; #(#attrs)* let #pat = #whole;)
}

/// Generates the path of the facade's module for tests, located at `span`.
fn testing(args: &TestArgs, span: Span) -> TokenStream {
    let krate = match &args.krate {
        Some(Krate(path)) => path.to_token_stream(),
        None => quote_spanned!(span=> ::zklock),
    };
    quote_spanned!(span=> #krate::testing)
}

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
            async fn pays() {}
            const _: () = { let _ = pays; };
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
}

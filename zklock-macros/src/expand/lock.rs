//! Generates the function under `#[distributed_lock]`: it runs the body while it holds the lock.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote_spanned};
use syn::Result;

use super::body;
use super::ending::{Ending, check_map_err};
use super::flow::Flow;
use super::item::{expand, function};
use super::span::{mixed, private};
use super::start::once;
use crate::args::LockArgs;
use crate::capture;
use crate::kind::Kind;
use crate::once::Starts;
use crate::otherwise::Otherwise;
use crate::shared::{Client, Guard};
use crate::target::{Reports, Target};
use crate::wait::Wait;

/// Expands `#[distributed_lock]`.
pub(crate) fn distributed_lock(args: TokenStream, item: TokenStream) -> TokenStream {
    expand((Kind::DistributedLock, reports), args, item, locked)
}

fn reports(args: Option<&LockArgs>) -> Reports {
    match args {
        // Arguments that could not be read may contain `skip`.
        None | Some(LockArgs { otherwise: Some(Otherwise::Skip), .. }) => Reports::WhatItCan,
        Some(_) => Reports::Errors,
    }
}

fn locked(args: &LockArgs, target: &Target) -> Result<TokenStream> {
    let sig = &target.sig;
    let flow = Flow::of(target, args.shared.on_lost)?;
    check_map_err(&args.shared, target)?;
    let private = private(args.shared.krate.as_ref(), mixed());
    let path = args.path.in_function(sig)?.expand(&private);
    let client = Client::expand(args.shared.client.as_ref(), &private);
    let wait = Wait::expand(args.wait.as_ref(), &private);
    let permits = args.recipe.statement(&private);
    let starts = Starts { sig, paths: args.path.slice() };
    let once = once(args.shared.once.as_ref(), starts, &private)?;
    let held = held(args, target, flow);
    // The body must not capture what only `map_err` uses, because the error of the body is mapped after it.
    let [once_tokens, permit_tokens] = [&once, &permits].map(ToTokens::to_token_stream);
    let otherwise = args.otherwise.to_token_stream();
    let mentioned = [&path, &client, &wait, &permit_tokens, &once_tokens, &otherwise, &target.body];
    let captures = capture::statements(sig, &mentioned);
    let (calls, awaited, run) = (flow.calls(&private), flow.awaited(), flow.runner("run"));
    // The compiler reports a guard that would have to live longer than the body at its name.
    let name = args.shared.guard.as_ref().map(|Guard(name)| name);
    let span = name.map_or_else(mixed, |name| mixed().located_at(name.span()));
    let guard = name.map(|name| quote_spanned!(span=> let #name = &__held;));
    let release = quote_spanned!(span=> #calls::release(__held));
    let body = flow.body(&private, target, &body::statements(target, &captures));
    let failed = failed(args, &Ending::new(&args.shared, target));
    // Each argument has its own statement, so that its temporaries are dropped before the first await.
    let statements = quote_spanned! {mixed()=>
        // The attribute uses what the body may leave unused, and a `_` in front of its name says so.
        #[allow(clippy::used_underscore_binding)]
        let __path = #path;
        let __client = #client;
        let __wait = #wait;
        #permits
        #once
        // In a pattern, the guard is no candidate for `clippy::significant_drop_tightening`.
        let (__held,) = (#held,);
        #guard
        let __body = #body;
        let __output = #calls::#run(&__held, __body) #awaited;
        match __output {
            ::core::result::Result::Ok(__output) => {
                #release #awaited;
                __output
            }
            ::core::result::Result::Err(__error) => #failed,
        }
    };
    Ok(function(target, &statements))
}

/// Generates the conversion of the error into the return type.
fn failed(args: &LockArgs, ending: &Ending<'_>) -> TokenStream {
    match reports(Some(args)) {
        Reports::Errors => ending.failed(),
        Reports::WhatItCan => ending.reported(),
    }
}

/// Generates the expression that takes the lock: it yields the guard, or returns from the function.
fn held(args: &LockArgs, target: &Target, flow: Flow) -> TokenStream {
    let private = private(args.shared.krate.as_ref(), mixed());
    let ending = Ending::new(&args.shared, target);
    let (calls, awaited, failed) = (flow.calls(&private), flow.awaited(), failed(args, &ending));
    let failed = match &args.otherwise {
        None => quote_spanned!(mixed()=> return #failed),
        Some(otherwise) => {
            let (function, error) = (ending.function(), quote_spanned!(mixed()=> __error));
            let otherwise = ending.otherwise(otherwise, &error);
            quote_spanned! {mixed()=>
                {
                    if __error.is_contended() {
                        #private::told(&__error, #function);
                        #otherwise
                    }
                    return #failed
                }
            }
        }
    };
    if args.shared.once.is_none() {
        let taken = args.recipe.expand(&args.path, &calls);
        return quote_spanned! {mixed()=>
            match #taken #awaited {
                ::core::result::Result::Ok(__held) => __held,
                ::core::result::Result::Err(__error) => #failed,
            }
        };
    }
    // `begin` takes the acquisition as a future, even where it blocks.
    let taken = args.recipe.expand(&args.path, &private);
    let later = ending.skipped();
    quote_spanned! {mixed()=>
        match #calls::begin(__once, ::core::clone::Clone::clone(&__client), #taken) #awaited {
            #private::Start::Now(__held) => __held,
            #private::Start::Later => return #later,
            #private::Start::Failed(__error) => #failed,
        }
    }
}

#[cfg(test)]
mod tests {
    use quote::quote;

    use super::*;

    #[track_caller]
    fn check(args: &str, item: &str, expected: &str) {
        let shown = distributed_lock(args.parse().unwrap(), item.parse().unwrap());
        assert_eq!(pretty(&shown.to_string()), pretty(expected));
    }

    fn pretty(file: &str) -> String {
        prettyplease::unparse(&syn::parse_file(file).unwrap())
    }

    #[test]
    fn a_function_is_locked() {
        check(
            r#"path = "/orders/{order.id}", wait = "5s""#,
            "/// Settles.
            pub async fn settle(order: &Order) -> Result<Receipt, SettleError> { order.settle().await }",
            r#"
            /// Settles.
            pub async fn settle(order: &Order) -> Result<Receipt, SettleError> {
                #[allow(clippy::used_underscore_binding)]
                let __path = ::zklock::__private::PathTemplate::new("/orders/{order.id}")
                    .literal("/orders/")
                    .segment(&(order.id))
                    .finish();
                let __client = ::zklock::__private::default_client();
                let __wait = ::zklock::__private::Wait::For(::core::time::Duration::new(5u64, 0u32));
                let (__held,) = (match ::zklock::__private::lock(__client, __path, __wait).await {
                    ::core::result::Result::Ok(__held) => __held,
                    ::core::result::Result::Err(__error) => {
                        return ::zklock::__private::Carries::from_lock_error(__error)
                    }
                },);
                let __body = async move {
                    #[allow(
                        unknown_lints,
                        unreachable_code,
                        clippy::diverging_sub_expression,
                        clippy::empty_loop,
                        clippy::let_unit_value,
                        clippy::let_with_type_underscore,
                        clippy::needless_return,
                        clippy::type_complexity,
                        clippy::unreachable,
                        clippy::used_underscore_binding
                    )]
                    if false {
                        let _ = &order;
                        let __output: Result<Receipt, SettleError> = loop {};
                        return __output;
                    }
                    { order.settle().await }
                };
                let __output = ::zklock::__private::run(&__held, __body).await;
                match __output {
                    ::core::result::Result::Ok(__output) => {
                        ::zklock::__private::release(__held).await;
                        __output
                    }
                    ::core::result::Result::Err(__error) => {
                                ::zklock::__private::Carries::from_lock_error(__error)
                    }
                }
            }"#,
        );
    }

    #[test]
    fn every_argument_has_its_place() {
        check(
            r#"path = key(&self.0), wait = forever, client = "reporting", guard = held, crate = crate::zk"#,
            "#[tracing::instrument]
            async unsafe fn list<const N: usize>(self: Arc<Self>) -> Result<impl Iterator<Item = u8> + use<N>, E> {
                #![allow(unused)]
                Ok(held.list())
            }",
            r#"
            #[tracing::instrument]
            async unsafe fn list<const N: usize>(self: Arc<Self>) -> Result<impl Iterator<Item = u8> + use<N>, E> {
                #![allow(unused)]
                #[allow(clippy::used_underscore_binding)]
                let __path = crate::zk::__private::path_of(&(key(&self.0)));
                let __client = crate::zk::__private::named_client("reporting");
                let __wait = crate::zk::__private::Wait::Forever;
                let (__held,) = (match crate::zk::__private::lock(__client, __path, __wait).await {
                    ::core::result::Result::Ok(__held) => __held,
                    ::core::result::Result::Err(__error) => {
                        return crate::zk::__private::Carries::from_lock_error(__error)
                    }
                },);
                let held = &__held;
                let __body = async move {
                    #[allow(
                        unknown_lints,
                        unreachable_code,
                        clippy::diverging_sub_expression,
                        clippy::empty_loop,
                        clippy::let_unit_value,
                        clippy::let_with_type_underscore,
                        clippy::needless_return,
                        clippy::type_complexity,
                        clippy::unreachable,
                        clippy::used_underscore_binding
                    )]
                    if false {
                        let _ = &self;
                        let __output: Result<_, E> = loop {};
                        return __output;
                    }
                    { Ok(held.list()) }
                };
                let __output = crate::zk::__private::run(&__held, __body).await;
                match __output {
                    ::core::result::Result::Ok(__output) => {
                        crate::zk::__private::release(__held).await;
                        __output
                    }
                    ::core::result::Result::Err(__error) => {
                                crate::zk::__private::Carries::from_lock_error(__error)
                    }
                }
            }"#,
        );
    }

    #[test]
    fn a_function_that_is_not_async_blocks() {
        check(
            r#"path = p, crate = k"#,
            "fn settle(&mut self, order: Order) -> R { self.go(order)? }",
            r#"
            fn settle(&mut self, order: Order) -> R {
                #[allow(clippy::used_underscore_binding)]
                let __path = k::__private::path_of(&(p));
                let __client = k::__private::default_client();
                let __wait = k::__private::Wait::Default;
                let (__held,) = (match k::__private::blocking::lock(__client, __path, __wait) {
                    ::core::result::Result::Ok(__held) => __held,
                    ::core::result::Result::Err(__error) => {
                        return k::__private::Carries::from_lock_error(__error)
                    }
                },);
                let __body = k::__private::blocking::body(move || {
                    #[allow(
                        unknown_lints,
                        unreachable_code,
                        clippy::diverging_sub_expression,
                        clippy::empty_loop,
                        clippy::let_unit_value,
                        clippy::let_with_type_underscore,
                        clippy::needless_return,
                        clippy::type_complexity,
                        clippy::unreachable,
                        clippy::used_underscore_binding
                    )]
                    if false {
                        let _ = &order;
                        let __output: R = loop {};
                        return __output;
                    }
                    { self.go(order)? }
                });
                let __output = k::__private::blocking::run(&__held, __body);
                match __output {
                    ::core::result::Result::Ok(__output) => {
                        k::__private::blocking::release(__held);
                        __output
                    }
                    ::core::result::Result::Err(__error) => {
                                k::__private::Carries::from_lock_error(__error)
                    }
                }
            }"#,
        );
    }

    #[test]
    fn a_body_runs_to_its_end_if_told_to() {
        let shown = |args: &str| {
            let item = quote!(
                async fn f() -> R {}
            );
            distributed_lock(args.parse().unwrap(), item).to_string().replace(' ', "")
        };
        assert!(shown("path = p, on_lost = finish").contains("::run_to_end(&__held,__body).await;"));
        for cancelled in ["path = p", "path = p, on_lost = cancel"] {
            assert!(shown(cancelled).contains("::run(&__held,__body).await;"), "{cancelled}");
        }
    }

    #[test]
    fn a_body_that_is_never_dropped_is_not_to_be_cancelled() {
        let shown = distributed_lock(
            quote!(path = p, on_lost = cancel),
            quote!(
                fn f() -> R {}
            ),
        );
        assert!(shown.to_string().contains("remove `on_lost`"), "{shown}");
    }

    /// Checks the statements from the path up to the call that takes the lock.
    #[track_caller]
    fn check_taking(args: &str, expected: &str) {
        let item = quote!(
            async fn f() -> R {}
        );
        let shown = distributed_lock(args.parse().unwrap(), item).to_string().replace(' ', "");
        let taking = shown.split_once("let__path=").unwrap().1.split_once("{::core::result").unwrap().0;
        assert_eq!(taking, expected, "{args}");
    }

    #[test]
    fn a_mode_takes_one_side_of_a_read_write_lock() {
        for (mode, call) in [("", "lock"), ("mode = read,", "read"), ("mode = write,", "write")] {
            check_taking(
                &format!("{mode} path = p, crate = k"),
                &format!(
                    "k::__private::path_of(&(p));\
                     let__client=k::__private::default_client();\
                     let__wait=k::__private::Wait::Default;\
                     let(__held,)=(matchk::__private::{call}(__client,__path,__wait).await"
                ),
            );
        }
    }

    #[test]
    fn several_paths_are_taken_together() {
        for (mode, member) in [("", "mutex"), ("mode = read,", "read"), ("mode = write,", "write")] {
            check_taking(
                &format!("{mode} path = [p, q()], crate = k"),
                &format!(
                    "[k::__private::path_of(&(p)),k::__private::path_of(&(q()))];\
                     let__client=k::__private::default_client();\
                     let__wait=k::__private::Wait::Default;\
                     let(__held,)=(matchk::__private::lock_all(__client,__path,k::__private::Member::{member},__wait).await"
                ),
            );
        }
    }

    #[test]
    fn a_period_is_begun_under_the_lock_and_before_the_body() {
        for (item, module, awaited) in
            [("async fn f() -> R {}", "", ".await"), ("fn f() -> R {}", "blocking::", "")]
        {
            let args = quote!(path = [p, q], once_per = every, tick = t, crate = k);
            let shown = distributed_lock(args, item.parse().unwrap()).to_string().replace(' ', "");
            let once = "let__once=k::__private::Once::at(k::__private::path_of(&(t)),&__path,";
            let begun = format!(
                "let(__held,)=(matchk::__private::{module}begin(__once,::core::clone::Clone::clone(&__client),\
                 k::__private::lock_all(__client,__path,k::__private::Member::mutex,__wait)){awaited}{{\
                 k::__private::Start::Now(__held)=>__held,\
                 k::__private::Start::Later=>returnk::__private::OnSkip::skipped(),\
                 k::__private::Start::Failed(__error)=>\
                 returnk::__private::Carries::from_lock_error(__error),}},);let__body="
            );
            assert!(shown.contains(once) && shown.contains(&begun), "{shown}");
        }
    }

    #[test]
    fn a_boxed_body_is_locked_in_its_box() {
        let item = quote! {
            fn settle<'a>(&'a self) -> Pin<Box<dyn Future<Output = R> + Send + 'a>> {
                Box::pin(async move { self.go().await })
            }
        };
        let shown = distributed_lock(quote!(path = "/a"), item).to_string();
        let (outside, inside) = shown.split_once("__path").unwrap();
        assert!(outside.contains("{ Box :: pin (async move { #"), "{shown}");
        assert!(inside.contains("let __output : R = loop") && inside.contains("self . go ()"), "{shown}");
    }

    #[test]
    fn the_function_stays_beside_an_error() {
        check(
            r#"path = "orders""#,
            "async fn settle(id: u64) -> Result<(), E> { Ok(()) }",
            r#"
            #[allow(unused_variables)]
            async fn settle(id: u64) -> Result<(), E> { Ok(()) }
            ::core::compile_error! { "the path \"orders\" is relative: start it with a `/`" }"#,
        );
        check(
            r#"path = "/orders""#,
            "struct Settle;",
            "struct Settle;
            ::core::compile_error! { \"`#[distributed_lock]` goes on a function, this is a `struct`\" }",
        );
    }

    #[test]
    fn mistakes_on_both_sides_are_reported() {
        let shown = distributed_lock(
            TokenStream::new(),
            quote!(
                const fn f() -> R {}
            ),
        )
        .to_string();
        assert!(shown.contains("`path` is missing") && shown.contains("remove the `const`"), "{shown}");
    }

    #[test]
    fn a_body_that_is_still_typed_is_kept() {
        let shown = distributed_lock(quote!(path = "/a"), quote!(async fn f(&self) -> R { self. }));
        assert!(shown.to_string().contains("{ self . }"), "{shown}");
    }

    /// Returns the generated function without spaces and without the paths of `Ok` and `Err`.
    fn shown(args: &str, item: &str) -> String {
        let shown = distributed_lock(args.parse().unwrap(), item.parse().unwrap()).to_string();
        shown.replace(' ', "").replace("::core::result::Result::", "")
    }

    #[track_caller]
    fn check_contended(args: &str, returned: &str, failed: &str) {
        let shown = shown(&format!(r#"path = "/a", crate = k, {args}"#), "async fn f(x: u8) -> R {}");
        let taken = "let__wait=k::__private::Wait::Never;\
                     let(__held,)=(matchk::__private::lock(__client,__path,__wait).await{Ok(__held)=>__held,Err(__error)=>";
        let told = "k::__private::told(&__error,::core::concat!(::core::module_path!(),\"::\",\"f\"));";
        let expected =
            format!("{taken}{{if__error.is_contended(){{{told}{returned}}}return{failed}}},}},);let__body=");
        assert!(shown.contains(&expected), "{shown}");
    }

    #[test]
    fn a_contended_call_returns_what_it_is_told() {
        let skipped = "returnk::__private::OnSkip::skipped()";
        let reported =
            "k::__private::OnFailure::failed(__error,::core::concat!(::core::module_path!(),\"::\",\"f\"))";
        check_contended("skip", skipped, reported);
        check_contended("otherwise = skip", skipped, reported);
        let failed = "k::__private::Carries::from_lock_error(__error)";
        check_contended("otherwise = error", &format!("return{failed}"), failed);
        check_contended("otherwise = Ok(x)", "{#[allow(unreachable_code)]returnOk(x);}", failed);
        check_contended("otherwise = |e| Err(e)", "returnk::__private::instead(|e|Err(e),__error)", failed);
    }

    #[test]
    fn errors_are_mapped() {
        let shown =
            shown(r#"path = "/a", crate = k, map_err = Failed::of, otherwise = error"#, "fn f() -> R {}");
        let mapped = "Err(k::__private::mapped(Failed::of,__error))";
        assert_eq!(shown.matches(mapped).count(), 3, "{shown}");
        assert!(!shown.contains("Carries"), "{shown}");
    }

    #[test]
    fn a_name_takes_the_place_of_that_of_the_function() {
        let shown = shown(r#"path = "/a", crate = k, skip, name = "settle""#, "fn f() {}");
        assert!(shown.contains("k::__private::told(&__error,\"settle\");"), "{shown}");
    }
}

//! Generates the function under `#[leader_only]`: it runs the body while this replica leads.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote, quote_spanned};
use syn::Result;

use super::body;
use super::ending::{Ending, check_map_err};
use super::flow::Flow;
use super::item::{expand, function};
use super::span::{mixed, private};
use super::start::once;
use crate::capture;
use crate::kind::Kind;
use crate::leader::LeaderArgs;
use crate::once::Starts;
use crate::otherwise::Otherwise;
use crate::path::slice_of_one;
use crate::shared::{Client, Guard};
use crate::target::{Reports, Target};
use crate::wait::Wait;

/// Expands `#[leader_only]`.
pub(crate) fn leader_only(args: TokenStream, item: TokenStream) -> TokenStream {
    expand((Kind::LeaderOnly, |_| Reports::WhatItCan), args, item, led)
}

fn led(args: &LeaderArgs, target: &Target) -> Result<TokenStream> {
    let flow = Flow::of(target, args.shared.on_lost)?;
    check_map_err(&args.shared, target)?;
    let private = private(args.shared.krate.as_ref(), mixed());
    let path = args.shared.named(args.path(&target.sig, &private)?, &private);
    let client = Client::expand(args.shared.client.as_ref(), &private);
    let failed = Ending::new(&args.shared, target).reported();
    let wait = matches!(args.otherwise, Otherwise::Wait(_)).then(|| {
        let wait = Wait::bound(args.wait.as_ref());
        quote_spanned!(mixed()=> let __wait = #wait;)
    });
    let term = term(args, target, flow);
    let starts = Starts { sig: &target.sig, paths: slice_of_one() };
    let once = once(args.shared.once.as_ref(), starts, &private)?;
    let begun = args.shared.once.as_ref().map(|_| begun(args, target, flow));
    // The body must not capture what only `map_err` uses, because the error of the body is mapped after it.
    let [once_tokens, wait_tokens] = [&once, &wait].map(ToTokens::to_token_stream);
    let otherwise = args.otherwise.to_token_stream();
    let mentioned = [&path, &client, &wait_tokens, &once_tokens, &otherwise, &target.body];
    let captures = capture::statements(&target.sig, &mentioned);
    let guard = args.shared.guard.as_ref().map(|Guard(name)| {
        // The compiler reports a term that would have to live longer than the body at its name.
        let span = mixed().located_at(name.span());
        quote_spanned!(span=> let __term = __term; let #name = __term.leadership();)
    });
    let body = flow.body(&private, target, &body::statements(target, &captures));
    let (calls, awaited, lead) = (flow.calls(&private), flow.awaited(), flow.runner("lead"));
    // Each argument has its own statement, so that its temporaries are dropped before the first await.
    let statements = quote_spanned! {mixed()=>
        // The attribute uses what the body may leave unused, and a `_` in front of its name says so.
        #[allow(clippy::used_underscore_binding)]
        let __path = #path;
        let __client = #client;
        #wait
        #once
        let __term = #term;
        #begun
        #guard
        let __body = #body;
        match #calls::#lead(&__term, __body) #awaited {
            ::core::result::Result::Ok(__output) => __output,
            ::core::result::Result::Err(__error) => #failed,
        }
    };
    Ok(function(target, &statements))
}

/// Generates the expression that yields the term, or returns from the function.
fn term(args: &LeaderArgs, target: &Target, flow: Flow) -> TokenStream {
    let private = private(args.shared.krate.as_ref(), mixed());
    let ending = Ending::new(&args.shared, target);
    let (calls, awaited, failed) = (flow.calls(&private), flow.awaited(), ending.reported());
    if let Otherwise::Wait(_) = args.otherwise {
        return quote_spanned! {mixed()=>
            match #calls::wait_to_lead(__client, __path, __wait) #awaited {
                ::core::result::Result::Ok(__term) => __term,
                ::core::result::Result::Err(__error) => return #failed,
            }
        };
    }
    let follower = match args.otherwise {
        Otherwise::Error | Otherwise::Closure(_) => quote_spanned!(mixed()=> __follower),
        Otherwise::Skip | Otherwise::Wait(_) | Otherwise::Value(_) => quote!(_),
    };
    let otherwise = ending.otherwise(&args.otherwise, &quote_spanned!(mixed()=> __follower.error()));
    quote_spanned! {mixed()=>
        match #calls::ask_to_lead(__client, __path) #awaited {
            #private::Answer::Leads(__term) => __term,
            #private::Answer::Follows(#follower) => #otherwise,
            #private::Answer::Failed(__error) => return #failed,
        }
    }
}

/// Generates the statement that begins the period under the term, or returns from the function if the last
/// period is not over.
fn begun(args: &LeaderArgs, target: &Target, flow: Flow) -> TokenStream {
    let private = private(args.shared.krate.as_ref(), mixed());
    let ending = Ending::new(&args.shared, target);
    let (calls, awaited, failed) = (flow.calls(&private), flow.awaited(), ending.reported());
    let later = ending.skipped();
    quote_spanned! {mixed()=>
        let __term = match #calls::begin_term(__once, __term) #awaited {
            #private::Start::Now(__term) => __term,
            #private::Start::Later => return #later,
            #private::Start::Failed(__error) => return #failed,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(args: &str, item: &str, expected: &str) {
        let shown = leader_only(args.parse().unwrap(), item.parse().unwrap());
        assert_eq!(pretty(&shown.to_string()), pretty(expected));
    }

    fn pretty(file: &str) -> String {
        prettyplease::unparse(&syn::parse_file(file).unwrap())
    }

    /// Checks the expression that yields the term.
    #[track_caller]
    fn check_asking(args: &str, expected: &str) {
        let item = quote!(
            async fn f(x: u8) -> R {}
        );
        let shown = leader_only(args.parse().unwrap(), item).to_string().replace(' ', "");
        let asking = shown.split_once("let__term=match").unwrap().1.split_once("};let__body").unwrap().0;
        assert_eq!(asking.replace("::core::result::Result::", ""), expected, "{args}");
    }

    #[test]
    fn a_function_runs_under_its_term() {
        check(
            "guard = held, client = pool.of(name)",
            "/// Sweeps.
            pub async fn sweep(name: &str) { held.verify().await; }",
            r#"
            /// Sweeps.
            pub async fn sweep(name: &str) {
                #[allow(clippy::used_underscore_binding)]
                let __path = {
                    static __SITE: ::zklock::__private::Site = ::zklock::__private::Site::new("/leader", "/leader");
                    ::zklock::__private::constant(&__SITE)
                };
                let __client = ::zklock::__private::client_of(&(pool.of(name)));
                let __term = match ::zklock::__private::ask_to_lead(__client, __path).await {
                    ::zklock::__private::Answer::Leads(__term) => __term,
                    ::zklock::__private::Answer::Follows(_) => {
                        return ::zklock::__private::OnSkip::skipped()
                    }
                    ::zklock::__private::Answer::Failed(__error) => {
                        return ::zklock::__private::OnFailure::failed(__error, ::core::concat!(::core::module_path!(), "::", "sweep"))
                    }
                };
                let __term = __term;
                let held = __term.leadership();
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
                        let _ = &name;
                        let __output: () = loop {};
                        return __output;
                    }
                    { held.verify().await; }
                };
                match ::zklock::__private::lead(&__term, __body).await {
                    ::core::result::Result::Ok(__output) => __output,
                    ::core::result::Result::Err(__error) => {
                        ::zklock::__private::OnFailure::failed(__error, ::core::concat!(::core::module_path!(), "::", "sweep"))
                    }
                }
            }"#,
        );
    }

    const FUNCTION: &str = "::core::concat!(::core::module_path!(),\"::\",\"f\")";

    #[test]
    fn who_does_not_lead_does_as_told() {
        let asked = |follower: &str, value: &str| {
            format!(
                "k::__private::ask_to_lead(__client,__path).await{{\
                 k::__private::Answer::Leads(__term)=>__term,\
                 k::__private::Answer::Follows({follower})=>{value},\
                 k::__private::Answer::Failed(__error)=>returnk::__private::OnFailure::failed(__error,{FUNCTION}),"
            )
        };
        check_asking("crate = k", &asked("_", "returnk::__private::OnSkip::skipped()"));
        let refused = "returnk::__private::Carries::from_lock_error(__follower.error())";
        check_asking("crate = k, otherwise = error", &asked("__follower", refused));
        for (value, shown) in [("(skip)", "skip"), ("ask(x).await?", "ask(x).await?")] {
            let returned = format!("{{#[allow(unreachable_code)]return{shown};}}");
            check_asking(&format!("crate = k, otherwise = {value}"), &asked("_", &returned));
        }
        check_asking(
            "crate = k, otherwise = wait",
            "k::__private::wait_to_lead(__client,__path,__wait).await{Ok(__term)=>__term,\
             Err(__error)=>returnk::__private::OnFailure::failed(__error,::core::concat!(::core::module_path!(),\"::\",\"f\")),",
        );
    }

    #[test]
    fn a_function_that_is_not_async_blocks() {
        let shown = |args: &str| {
            let item = quote!(
                fn f(x: u8) -> R {}
            );
            leader_only(args.parse().unwrap(), item).to_string().replace(' ', "")
        };
        let skips = shown("crate = k, on_lost = finish");
        assert!(skips.contains("matchk::__private::blocking::ask_to_lead(__client,__path){"), "{skips}");
        assert!(skips.contains("k::__private::Answer::Leads(__term)=>__term"), "{skips}");
        assert!(skips.contains("matchk::__private::blocking::lead(&__term,__body){"), "{skips}");
        assert!(!skips.contains("await"), "{skips}");
        let waits = shown("crate = k, otherwise = wait");
        assert!(
            waits.contains("matchk::__private::blocking::wait_to_lead(__client,__path,__wait){"),
            "{waits}"
        );
    }

    #[test]
    fn a_body_runs_to_its_end_if_told_to() {
        let item = quote!(
            async fn f() {}
        );
        let shown = leader_only(quote!(on_lost = finish), item).to_string().replace(' ', "");
        assert!(shown.contains("::lead_to_end(&__term,__body).await{"), "{shown}");
    }

    #[test]
    fn a_period_is_begun_under_the_term_and_before_the_body() {
        let item = quote!(
            async fn f() {}
        );
        let shown = leader_only(quote!(once_per = "1m", crate = k), item).to_string().replace(' ', "");
        let once = "\"f\",::core::concat!(";
        let begun = "let__term=matchk::__private::begin_term(__once,__term).await{\
                     k::__private::Start::Now(__term)=>__term,\
                     k::__private::Start::Later=>returnk::__private::OnSkip::skipped(),\
                     k::__private::Start::Failed(__error)=>\
                     returnk::__private::OnFailure::failed(__error,::core::concat!(::core::module_path!(),\"::\",\"f\")),};\
                     let__body=";
        assert!(shown.contains(once) && shown.contains(begun), "{shown}");
        assert!(shown.contains("&__FUNCTION,::core::slice::from_ref(&__path),"), "{shown}");
    }

    #[test]
    fn the_function_stays_beside_an_error() {
        let shown = leader_only(
            quote!(path = "leader"),
            quote!(
                async fn f(x: u8) {}
            ),
        )
        .to_string();
        assert!(shown.starts_with("# [allow (unused_variables)] async fn f (x : u8) { }"), "{shown}");
        assert!(shown.contains("the path \\\"leader\\\" is relative"), "{shown}");
        let shown = leader_only(
            TokenStream::new(),
            quote!(
                struct S;
            ),
        )
        .to_string();
        assert!(shown.contains("`#[leader_only]` goes on a function, this is a `struct`"), "{shown}");
    }
}

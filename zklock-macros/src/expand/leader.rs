//! Generates the function under `#[leader_only]`: it runs the body while this replica leads.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::Result;

use super::body;
use super::ending::{Ending, check_map_err};
use super::flow::Flow;
use super::item::{expand, function};
use super::span::{mixed, private};
use crate::arguments::{Arguments, Variable};
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
    let starts = Starts { sig: &target.sig, paths: slice_of_one() };
    let once = args.shared.once.as_ref().map(|once| once.expand(starts, &private)).transpose()?;
    let mut variables = vec![
        Variable::new("__path", path),
        Variable::new("__client", Client::expand(args.shared.client.as_ref(), &private)),
    ];
    if let Otherwise::Wait(_) = args.otherwise {
        variables.push(Variable::new("__wait", Wait::bound(args.wait.as_ref())));
    }
    variables.extend(once.map(|once| Variable::new("__once", once)));
    let arguments = Arguments::new(target, &args.shared.expressions(&variables, Some(&args.otherwise)));
    let defined = arguments.define(&variables, &private);
    let body = flow.body(&private, target, &body::statements(target, &arguments.bindings));
    let run = begin_and_run(args, target, flow, &body);
    let asked = ask_and_run(args, target, &arguments, flow, &run);
    Ok(function(target, &arguments.sig, &quote_spanned!(mixed()=> #defined #asked)))
}

/// Generates the expression that asks for the term and runs `run` under it, or yields the result of a call without it.
fn ask_and_run(
    args: &LeaderArgs,
    target: &Target,
    arguments: &Arguments,
    flow: Flow,
    run: &TokenStream,
) -> TokenStream {
    let private = private(args.shared.krate.as_ref(), mixed());
    let ending = Ending::new(&args.shared, target);
    let (calls, awaited, failed) = (flow.calls(&private), flow.awaited(), ending.reported());
    if let Otherwise::Wait(_) = args.otherwise {
        return quote_spanned! {mixed()=>
            match #calls::wait_to_lead(__client, __path, __wait) #awaited {
                ::core::result::Result::Ok(__term) => #run
                ::core::result::Result::Err(__error) => #failed,
            }
        };
    }
    let follower = match args.otherwise {
        Otherwise::Error | Otherwise::Closure(_) => quote_spanned!(mixed()=> __follower),
        Otherwise::Skip | Otherwise::Wait(_) | Otherwise::Value(_) => quote!(_),
    };
    let error = quote_spanned!(mixed()=> __follower.error());
    let otherwise = ending.otherwise(&args.otherwise, arguments, &error);
    quote_spanned! {mixed()=>
        match #calls::ask_to_lead(__client, __path) #awaited {
            #private::Answer::Leads(__term) => #run
            #private::Answer::Follows(#follower) => { #otherwise }
            #private::Answer::Failed(__error) => #failed,
        }
    }
}

/// Generates the block that runs the body under the term, unless its last period is not over.
fn begin_and_run(args: &LeaderArgs, target: &Target, flow: Flow, body: &TokenStream) -> TokenStream {
    let private = private(args.shared.krate.as_ref(), mixed());
    let ending = Ending::new(&args.shared, target);
    let (calls, awaited, failed) = (flow.calls(&private), flow.awaited(), ending.reported());
    let (lead, later) = (flow.runner("lead"), ending.skipped());
    let guard = args.shared.guard.as_ref().map(|Guard(name)| {
        // The compiler reports a term that would have to live longer than the body at its name.
        let span = mixed().located_at(name.span());
        quote_spanned!(span=> let __term = __term; let #name = __term.leadership();)
    });
    let run = quote_spanned! {mixed()=>
        {
            #guard
            let __body = #body;
            match #calls::#lead(&__term, __body) #awaited {
                ::core::result::Result::Ok(__output) => __output,
                ::core::result::Result::Err(__error) => #failed,
            }
        }
    };
    if args.shared.once.is_none() {
        return run;
    }
    quote_spanned! {mixed()=>
        {
            match #calls::begin_term(__once, __term) #awaited {
                #private::Start::Now(__term) => #run
                #private::Start::Later => #later,
                #private::Start::Failed(__error) => #failed,
            }
        }
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

    /// Checks the end of the expression that asks for the term.
    #[track_caller]
    fn check_asking(args: &str, asked: &str, without_a_term: &str) {
        let item = quote!(
            async fn f(x: u8) -> R {}
        );
        let shown = leader_only(args.parse().unwrap(), item).to_string().replace(' ', "");
        let shown = shown.replace("::core::result::Result::", "");
        let asked = format!("matchk::__private::{asked}(__term)=>{{let__body=");
        assert!(
            shown.contains(&asked) && shown.ends_with(&format!("{without_a_term},}}}}")),
            "{args} {shown}"
        );
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
                let __path = {
                    static __SITE: ::zklock::__private::Site = ::zklock::__private::Site::new("/leader", "/leader");
                    ::zklock::__private::constant(&__SITE)
                };
                let __client = ::zklock::__private::client_of(&(pool.of(name)));
                match ::zklock::__private::ask_to_lead(__client, __path).await {
                    ::zklock::__private::Answer::Leads(__term) => {
                let __term = __term;
                let held = __term.leadership();
                let __body = async move {
                    if let ::core::option::Option::Some(__output) = ::core::option::Option::None::<()> {
                        return __output;
                    }
                    let name = name;
                    let _ = &name;
                    { held.verify().await; }
                };
                match ::zklock::__private::lead(&__term, __body).await {
                    ::core::result::Result::Ok(__output) => __output,
                    ::core::result::Result::Err(__error) => {
                        ::zklock::__private::OnFailure::failed(__error, ::core::concat!(::core::module_path!(), "::", "sweep"))
                    }
                }
                    }
                    ::zklock::__private::Answer::Follows(_) => { ::zklock::__private::OnSkip::skipped() }
                    ::zklock::__private::Answer::Failed(__error) => {
                        ::zklock::__private::OnFailure::failed(__error, ::core::concat!(::core::module_path!(), "::", "sweep"))
                    }
                }
            }"#,
        );
    }

    const FUNCTION: &str = "::core::concat!(::core::module_path!(),\"::\",\"f\")";

    #[test]
    fn who_does_not_lead_does_as_told() {
        let check = |args: &str, follower: &str, value: &str| {
            let failed = format!("k::__private::OnFailure::failed(__error,{FUNCTION})");
            check_asking(
                args,
                "ask_to_lead(__client,__path).await{k::__private::Answer::Leads",
                &format!(
                    "k::__private::Answer::Follows({follower})=>{{{value}}}k::__private::Answer::Failed(__error)=>{failed}"
                ),
            );
        };
        check("crate = k", "_", "k::__private::OnSkip::skipped()");
        let refused = "k::__private::Carries::from_lock_error(__follower.error())";
        check("crate = k, otherwise = error", "__follower", refused);
        for (value, shown) in [("(skip)", "skip"), ("ask(x).await?", "ask(x).await?")] {
            check(&format!("crate = k, otherwise = {value}"), "_", shown);
        }
        check_asking(
            "crate = k, otherwise = wait",
            "wait_to_lead(__client,__path,__wait).await{Ok",
            &format!("Err(__error)=>k::__private::OnFailure::failed(__error,{FUNCTION})"),
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
        assert!(skips.contains("k::__private::Answer::Leads(__term)=>{let__body="), "{skips}");
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
        let begun = "Leads(__term)=>{matchk::__private::begin_term(__once,__term).await{\
                     k::__private::Start::Now(__term)=>{let__body=";
        let not_begun = format!(
            "k::__private::Start::Later=>k::__private::OnSkip::skipped(),\
             k::__private::Start::Failed(__error)=>k::__private::OnFailure::failed(__error,{FUNCTION}),}}}}"
        );
        assert!(shown.contains(once) && shown.contains(begun) && shown.contains(&not_begun), "{shown}");
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
        assert!(shown.starts_with("async fn f (x : u8) { let _ = (& x ,) ; }"), "{shown}");
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

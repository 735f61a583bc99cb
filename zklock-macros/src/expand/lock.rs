//! Generates the function under `#[distributed_lock]`: it runs the body while it holds the lock.

#[cfg(test)]
mod tests;

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
use crate::path::Path;
use crate::recipe::Recipe;
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
    let path = args.shared.named(args.path.in_function(sig)?.expand(&private), &private);
    let client = Client::expand(args.shared.client.as_ref(), &private);
    let wait = Wait::expand(args.wait.as_ref(), &private);
    let permits = args.recipe.statement(&private);
    let starts = Starts { sig, paths: args.path.slice() };
    let once = once(args.shared.once.as_ref(), starts, &private)?;
    // The body must not capture what only `map_err` uses, because the error of the body is mapped after it.
    let [once_tokens, permit_tokens] = [&once, &permits].map(ToTokens::to_token_stream);
    let otherwise = args.otherwise.to_token_stream();
    let mentioned = [&path, &client, &wait, &permit_tokens, &once_tokens, &otherwise, &target.body];
    let captures = capture::statements(sig, &mentioned);
    let body = flow.body(&private, target, &body::statements(target, &captures));
    let (mutable, run) = match is_mutexed(args, flow) {
        true => (Some(quote_spanned!(mixed()=> mut)), run_mutexed(args, target, &body)),
        false => (None, take_and_run(args, target, flow, &body)),
    };
    // Each argument has its own statement, so that its temporaries are dropped before the first await.
    let statements = quote_spanned! {mixed()=>
        // The attribute uses what the body may leave unused, and a `_` in front of its name says so.
        #[allow(clippy::used_underscore_binding)]
        let #mutable __path = #path;
        let __client = #client;
        let __wait = #wait;
        #permits
        #once
        #run
    };
    Ok(function(target, &statements))
}

/// Returns whether one call takes the lock and runs the body: the lock is a mutex whose guard the body does not see, and all
/// failures have the same result.
fn is_mutexed(args: &LockArgs, flow: Flow) -> bool {
    let is_mutex = matches!((&args.recipe, &args.path), (Recipe::Mutex, Path::One(_)));
    let is_plain = args.shared.once.is_none() && args.otherwise.is_none() && args.shared.map_err.is_none();
    is_mutex && is_plain && is_unseen(args, flow)
}

/// Generates the call that takes the mutex, runs the body and releases the mutex.
fn run_mutexed(args: &LockArgs, target: &Target, body: &TokenStream) -> TokenStream {
    let private = private(args.shared.krate.as_ref(), mixed());
    let failed = Ending::new(&args.shared, target).failed();
    // In a closure, a return type that cannot carry the error is reported once.
    quote_spanned! {mixed()=>
        #private::run_mutexed(__client, &mut __path, __wait, #body, |__error| #failed).await
    }
}

/// Generates the statements that take the lock, run the body and release the lock.
fn take_and_run(args: &LockArgs, target: &Target, flow: Flow, body: &TokenStream) -> TokenStream {
    let (held, guard, run) = (held(args, target, flow), guard(args), run(args, target, flow));
    quote_spanned! {mixed()=>
        // In a pattern, the guard is no candidate for `clippy::significant_drop_tightening`.
        let (__held,) = (#held,);
        #guard
        let __body = #body;
        #run
    }
}

/// Returns whether the body does not see the guard, and its end gives the lock back.
fn is_unseen(args: &LockArgs, flow: Flow) -> bool {
    flow == Flow::Cancelled && args.shared.guard.is_none()
}

/// Generates the expression that runs the body under the lock, and then releases the lock.
fn run(args: &LockArgs, target: &Target, flow: Flow) -> TokenStream {
    let private = private(args.shared.krate.as_ref(), mixed());
    let failed = failed(args, &Ending::new(&args.shared, target));
    if is_unseen(args, flow) {
        return quote_spanned! {mixed()=>
            match #private::run_and_release(__held, __body).await {
                ::core::result::Result::Ok(__output) => __output,
                ::core::result::Result::Err(__error) => #failed,
            }
        };
    }
    let (calls, awaited, run) = (flow.calls(&private), flow.awaited(), flow.runner("run"));
    // The compiler reports a guard that would have to live longer than the body at its name.
    let span = args.shared.guard.as_ref().map_or_else(mixed, |Guard(name)| mixed().located_at(name.span()));
    let release = quote_spanned!(span=> #calls::release(__held));
    quote_spanned! {mixed()=>
        let __output = #calls::#run(&__held, __body) #awaited;
        match __output {
            ::core::result::Result::Ok(__output) => {
                #release #awaited;
                __output
            }
            ::core::result::Result::Err(__error) => #failed,
        }
    }
}

/// Generates the statement that shows the guard to the body.
fn guard(args: &LockArgs) -> Option<TokenStream> {
    args.shared.guard.as_ref().map(|Guard(name)| {
        let span = mixed().located_at(name.span());
        quote_spanned!(span=> let #name = &__held;)
    })
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

//! Generates the function under `#[distributed_lock]`: it runs the body while it holds the lock.

#[cfg(test)]
mod tests;

use proc_macro2::TokenStream;
use quote::quote_spanned;
use syn::{Result, Token};

use super::body;
use super::ending::{Ending, check_map_err};
use super::flow::Flow;
use super::item::{expand, function};
use super::span::{mixed, private};
use crate::args::LockArgs;
use crate::arguments::{Arguments, Variable};
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
    let starts = Starts { sig, paths: args.path.slice() };
    let once = args.shared.once.as_ref().map(|once| once.expand(starts, &private)).transpose()?;
    let is_mutexed = is_mutexed(args, flow);
    let mut variables = vec![
        Variable { mutability: is_mutexed.then(|| Token![mut](mixed())), ..Variable::new("__path", path) },
        Variable::new("__client", Client::expand(args.shared.client.as_ref(), &private)),
        Variable::new("__wait", Wait::expand(args.wait.as_ref(), &private)),
    ];
    variables.extend(args.recipe.numbers(&private).map(|numbers| Variable::new("__permits", numbers)));
    variables.extend(once.map(|once| Variable::new("__once", once)));
    let arguments = Arguments::new(target, &args.shared.expressions(&variables, args.otherwise.as_ref()));
    let body = flow.body(&private, target, &body::statements(target, &arguments.bindings));
    let defined = arguments.define(&variables, &private);
    let run = match is_mutexed {
        true => run_mutexed(args, target, &body),
        false => take_and_run(args, target, &arguments, flow, &body),
    };
    Ok(function(target, &arguments.sig, &quote_spanned!(mixed()=> #defined #run)))
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

/// Generates the expression that takes the lock and runs the body under it, or yields the result of a call without it.
fn take_and_run(
    args: &LockArgs,
    target: &Target,
    arguments: &Arguments,
    flow: Flow,
    body: &TokenStream,
) -> TokenStream {
    let private = private(args.shared.krate.as_ref(), mixed());
    let ending = Ending::new(&args.shared, target);
    let (calls, awaited, guard) = (flow.calls(&private), flow.awaited(), guard(args));
    let (run, failed) = (run(args, target, flow), not_taken(args, arguments, &ending));
    let run = quote_spanned!(mixed()=> { #guard let __body = #body; #run });
    if args.shared.once.is_none() {
        let taken = args.recipe.expand(&args.path, &calls);
        return quote_spanned! {mixed()=>
            match #taken #awaited {
                ::core::result::Result::Ok(__held) => #run
                ::core::result::Result::Err(__error) => #failed
            }
        };
    }
    // `begin` takes the acquisition as a future, even where it blocks.
    let taken = args.recipe.expand(&args.path, &private);
    let later = ending.skipped();
    quote_spanned! {mixed()=>
        match #calls::begin(__once, ::core::clone::Clone::clone(&__client), #taken) #awaited {
            #private::Start::Now(__held) => #run
            #private::Start::Later => #later,
            #private::Start::Failed(__error) => #failed
        }
    }
}

/// Generates the block with the result of a call that does not get the lock.
fn not_taken(args: &LockArgs, arguments: &Arguments, ending: &Ending<'_>) -> TokenStream {
    let failed = failed(args, ending);
    let Some(otherwise) = &args.otherwise else { return quote_spanned!(mixed()=> { #failed }) };
    let private = private(args.shared.krate.as_ref(), mixed());
    let (function, error) = (ending.function(), quote_spanned!(mixed()=> __error));
    let otherwise = ending.otherwise(otherwise, arguments, &error);
    // The value may diverge, as a panic does.
    quote_spanned! {mixed()=>
        {
            if __error.is_contended() {
                #private::told(&__error, #function);
                #otherwise
            } else {
                #failed
            }
        }
    }
}

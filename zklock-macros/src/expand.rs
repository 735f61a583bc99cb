//! Generates the function that the compiler sees in place of the annotated one: it takes a lock or a term, runs the body,
//! and finishes.

#[cfg(test)]
mod tests;

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::parse::{ParseStream, Parser};
use syn::spanned::Spanned;
use syn::{Error, Result, Signature, token};

use crate::args::{Args, Client, OnLost, Otherwise, Wait};
use crate::arguments::{Arguments, Expressions, Variable};
use crate::boxed;
use crate::names::Kind;
use crate::patterns;
use crate::syntax::{Errors, braced, erased_output, mixed, output_span, private, returns_nothing};
use crate::target::{Form, Reports, Target};

/// Parses both inputs of an attribute and generates the function. If anything fails, returns the item as it was, followed
/// by all errors.
pub(crate) fn expand(kind: Kind, args: TokenStream, item: TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let text = args.to_string();
    let read = |input: ParseStream<'_>| Args::read(kind, input);
    let parsed_args = errors.keep(read.parse2(args));
    let reports = reports(kind, parsed_args.as_ref());
    let target = |input: ParseStream<'_>| Target::read(input, kind, reports);
    let mut parsed_item = errors.keep(target.parse2(item.clone()));
    if let Some(Target { form: Form::Boxed(_), body, .. }) = &mut parsed_item {
        *body = boxed::permit_unused(std::mem::take(body), &text);
    }
    if let (Some(args), Some(target)) = (&parsed_args, &parsed_item)
        && let Some(function) = errors.keep(Call::new(kind, args, target).function())
    {
        return function;
    }
    // The generated code that uses the arguments is missing, so the compiler could warn without reason.
    let permitted = parsed_item.map(|_| quote!(#[allow(unused_variables)]));
    let errors = errors.to_compile_errors();
    quote!(#permitted #item #errors)
}

/// Returns whether the function must be able to return the error of its lock. Arguments that could not be read may contain
/// `skip`.
fn reports(kind: Kind, args: Option<&Args>) -> Reports {
    match (kind, args) {
        (Kind::LeaderOnly, _) | (_, None | Some(Args { otherwise: Some(Otherwise::Skip), .. })) => {
            Reports::WhatItCan
        }
        (Kind::DistributedLock, Some(_)) => Reports::Errors,
    }
}

/// A call of the generated function.
struct Call<'a> {
    kind: Kind,
    args: &'a Args,
    target: &'a Target,
    /// The path of the facade's module.
    private: TokenStream,
    /// The place of the return type, where the compiler reports a type without a suitable value.
    at_output: Span,
}

impl<'a> Call<'a> {
    fn new(kind: Kind, args: &'a Args, target: &'a Target) -> Self {
        let at_output = mixed().located_at(output_span(&target.output));
        Self { kind, args, target, private: private(args.krate.as_ref(), mixed()), at_output }
    }

    /// Generates the function.
    fn function(&self) -> Result<TokenStream> {
        let Self { args, target, private, .. } = self;
        self.check()?;
        let variables = self.variables()?;
        let expressions = Expressions {
            asked: variables.iter().map(|variable| variable.value.clone()).collect(),
            otherwise: args.otherwise.to_token_stream(),
            map_err: args.map_err.to_token_stream(),
        };
        let arguments = Arguments::new(target, &expressions);
        let defined = arguments.define(&variables, private);
        let (taken, run) = (self.taken(), self.run(&arguments));
        let (not_run, failed) = (self.not_run(&arguments), self.failed());
        let (held, later) = match args.once {
            None => (quote_spanned!(mixed()=> __held), None),
            Some(_) => {
                let skipped = self.skipped();
                let none = quote_spanned!(mixed()=> ::core::option::Option::None);
                let later = quote_spanned!(mixed()=> ::core::result::Result::Ok(#none) => #skipped,);
                (quote_spanned!(mixed()=> ::core::option::Option::Some(__held)), Some(later))
            }
        };
        let statements = quote_spanned! {mixed()=>
            #defined
            match #taken {
                ::core::result::Result::Ok(#held) => { #run }
                #later
                #not_run
                ::core::result::Result::Err(__error) => #failed,
            }
        };
        Ok(function(target, &arguments.sig, &statements))
    }

    /// Refuses arguments that do not go with the function.
    fn check(&self) -> Result<()> {
        let Self { args, target: Target { sig, form, output, .. }, .. } = self;
        let name = &sig.ident;
        let hides = |guard: &&Ident| patterns::names(sig).contains(guard);
        if let Some(guard) = args.guard.as_ref().filter(hides) {
            let message = format!("`{guard}` is an argument of `{name}`: give the guard another name");
            return Err(Error::new(guard.span(), message));
        }
        if let (Form::Sync, Some((OnLost::Cancel, span))) = (form, args.on_lost) {
            return Err(Error::new(span, NO_AWAIT));
        }
        // No type of an error is known.
        if let Some(map) = args.map_err.as_ref().filter(|_| returns_nothing(output)) {
            let message = format!(
                "`map_err` needs a `Result`: `{name}` returns `()`\nreturn `Result<(), E>`, or remove `map_err`"
            );
            return Err(Error::new_spanned(map, message));
        }
        Ok(())
    }

    /// Returns the variables that are evaluated before the lock is asked for.
    fn variables(&self) -> Result<Vec<Variable>> {
        let Self { args, target: Target { sig, .. }, private, .. } = self;
        let mut paths = args.path.expand(sig, private)?;
        if let Some(name) = &args.name {
            paths.extend(quote!(.named(#name)));
        }
        let mut variables = vec![
            Variable::new("__path", paths),
            Variable::new("__client", Client::expand(args.client.as_ref(), private)),
            Variable::new("__wait", Wait::expand(args.wait.as_ref(), private)),
        ];
        variables.extend(args.recipe.numbers(private).map(|numbers| Variable::new("__permits", numbers)));
        if let Some(once) = &args.once {
            variables.push(Variable::new("__once", once.expand(sig, private)?));
        }
        Ok(variables)
    }

    /// Generates the expression that takes the lock or the term, of type `Result<_, LockError>`. Under `once_per`, it holds
    /// an `Option`.
    fn taken(&self) -> TokenStream {
        let Self { args, private, .. } = self;
        let mut taken = args.recipe.take(&args.path, private);
        if args.once.is_some() {
            let begin = Ident::new(self.kind.choose("begin", "begin_term"), mixed());
            taken = quote_spanned!(mixed()=> #private::#begin(__once, #taken));
        }
        match self.target.form {
            Form::Sync => quote_spanned!(mixed()=> #private::blocking::wait(#taken)),
            Form::Async | Form::Boxed(_) => quote_spanned!(mixed()=> #taken.await),
        }
    }

    /// Generates the statements that run the body under the lock or the term, and then give it back.
    fn run(&self, arguments: &Arguments) -> TokenStream {
        let Self { args, private, .. } = self;
        // The compiler reports a guard that would have to live longer than the body at its name.
        let span = args.guard.as_ref().map_or_else(mixed, |name| mixed().located_at(name.span()));
        let guard = args.guard.as_ref().map(|name| match self.kind {
            Kind::DistributedLock => quote_spanned!(span=> let #name = &__held;),
            Kind::LeaderOnly => quote_spanned!(span=> let #name = __held.leadership();),
        });
        let (body, failed) = (self.body(arguments), self.failed());
        let dropped = quote_spanned!(span=> ::core::mem::drop(__held));
        let finish = quote_spanned!(span=> __held.finish());
        let finish = match self.target.form {
            Form::Sync => quote_spanned!(span=> #private::blocking::finish(#finish)),
            Form::Async | Form::Boxed(_) => quote_spanned!(span=> #finish.await),
        };
        let run = match (&self.target.form, args.on_lost) {
            (Form::Sync, _) => quote_spanned!(mixed()=> __held.run_blocking(__body)),
            (_, Some((OnLost::Finish, _))) => quote_spanned!(mixed()=> __held.run_to_end(__body).await),
            _ => quote_spanned!(mixed()=> __held.run(__body).await),
        };
        quote_spanned! {mixed()=>
            #guard
            let __body = #body;
            match #run {
                ::core::result::Result::Ok(__output) => {
                    #finish;
                    __output
                }
                ::core::result::Result::Err(__error) => {
                    // `map_err` is code of users, which may take the lock again.
                    #dropped;
                    #failed
                }
            }
        }
    }

    /// Generates the body as a future, or as a function where nothing is awaited. In it, `return` and `?` keep their meaning.
    fn body(&self, arguments: &Arguments) -> TokenStream {
        let Self { target, private, .. } = self;
        let (typed, bindings) = (typed(target), &arguments.bindings);
        let mut brace = target.brace;
        let is_statement = |token| matches!(token, TokenTree::Punct(punct) if punct.as_char() == ';');
        // With the user's span, the compiler would report the braces around a single expression as unused.
        if !target.body.clone().into_iter().any(is_statement) {
            brace = token::Brace(mixed().located_at(brace.span.join()));
        }
        let block = braced(brace, target.body.clone());
        let statements = quote_spanned!(mixed()=> #typed #bindings #block);
        match target.form {
            Form::Async | Form::Boxed(_) => {
                // The compiler reports the end of the body at this span.
                quote_spanned!(mixed().located_at(target.brace.span.join())=> async move { #statements })
            }
            Form::Sync => {
                // The compiler reports an `await` in the body at this span, where `async` is missing.
                let span = mixed().located_at(target.sig.fn_token.span);
                let body = quote_spanned!(span=> move || { #statements });
                // The call tells the compiler that the closure is called once, so that it may move out of its captures.
                quote_spanned!(mixed()=> #private::blocking::body(#body))
            }
        }
    }
}

/// The results of calls whose body does not run, or does not run to its end.
impl Call<'_> {
    /// Generates the arm with the result that `otherwise` says, of a call that does not get the lock or the term.
    fn not_run(&self, arguments: &Arguments) -> TokenStream {
        let value = match &self.args.otherwise {
            None | Some(Otherwise::Wait(_)) => return TokenStream::new(),
            Some(Otherwise::Skip) => self.skipped(),
            Some(Otherwise::Error) => self.carried(),
            Some(Otherwise::Closure(closure)) => {
                let span = mixed().located_at(closure.span());
                let private = private(self.args.krate.as_ref(), span);
                let error = quote_spanned!(mixed()=> __error);
                quote_spanned!(span=> #private::instead(#closure, #error))
            }
            Some(Otherwise::Value(value)) => value.to_token_stream(),
        };
        let taken_apart = arguments.take_apart_for(&self.args.otherwise.to_token_stream());
        let (private, function) = (&self.private, self.name());
        quote_spanned! {mixed()=>
            ::core::result::Result::Err(__error) if #private::is_skipped(&__error, #function) => {
                #taken_apart #value
            }
        }
    }

    /// Generates the conversion of the `LockError` in `__error` into the return type. If that may carry no error, the error
    /// is logged.
    fn failed(&self) -> TokenStream {
        match (reports(self.kind, Some(self.args)), &self.args.map_err) {
            (Reports::Errors, _) | (_, Some(_)) => self.carried(),
            (Reports::WhatItCan, None) => {
                let (at_output, function) = (self.private_at_output(), self.name());
                quote_spanned!(self.at_output=> #at_output::OnFailure::failed(__error, #function))
            }
        }
    }

    /// Generates the value of a call that is skipped.
    fn skipped(&self) -> TokenStream {
        let at_output = self.private_at_output();
        quote_spanned!(self.at_output=> #at_output::OnSkip::skipped())
    }

    /// Generates the conversion of the error into a `Result`.
    fn carried(&self) -> TokenStream {
        let error = quote_spanned!(mixed()=> __error);
        match &self.args.map_err {
            None => {
                let at_output = self.private_at_output();
                quote_spanned!(self.at_output=> #at_output::Carries::from_lock_error(#error))
            }
            Some(map) => {
                // With this span, a function of another type is reported at the user's expression.
                let span = mixed().located_at(map.span());
                let private = private(self.args.krate.as_ref(), span);
                let mapped = quote_spanned!(span=> #private::mapped(#map, #error));
                quote_spanned!(self.at_output=> ::core::result::Result::Err(#mapped))
            }
        }
    }

    fn private_at_output(&self) -> TokenStream {
        private(self.args.krate.as_ref(), self.at_output)
    }

    /// Generates the name of the function in logs.
    fn name(&self) -> TokenStream {
        match &self.args.name {
            Some(name) => quote!(#name),
            None => {
                let name = self.target.sig.ident.unraw().to_string();
                quote_spanned!(mixed()=> ::core::concat!(::core::module_path!(), "::", #name))
            }
        }
    }
}

const NO_AWAIT: &str = "`cancel` drops the body at an await, and a function that is not async has none\n\
                        remove `on_lost`: the body runs to its end, and the function then reports the loss";

/// Generates the statement that tells the compiler the type of an `async` block.
fn typed(target: &Target) -> TokenStream {
    let output = erased_output(&target.output);
    // There is no syntax for the return type of an `async` block. This `return` never runs, but it tells the
    // compiler the type, so that `?`, coercions and error messages are the same as in the original function.
    quote_spanned! {mixed().located_at(output_span(&target.output))=>
        if let ::core::option::Option::Some(__output) = ::core::option::Option::None::<#output> {
            return __output;
        }
    }
}

/// Generates the annotated function with the signature `sig`, and with `statements` in place of its body.
fn function(target: &Target, sig: &Signature, statements: &TokenStream) -> TokenStream {
    let Target { attrs, vis, defaultness, inner_attrs, form, outer_brace, brace, .. } = target;
    // With the user's span on its braces, the function is the user's for lints and for the attributes below.
    let block = match form {
        Form::Boxed(by) => {
            let typed = typed(target);
            let block = braced(*brace, quote!(#typed #statements));
            let boxed = quote_spanned!(brace.span.join()=> #by(async move #block));
            braced(*outer_brace, quote!(#(#inner_attrs)* #boxed))
        }
        Form::Async | Form::Sync => braced(*outer_brace, quote!(#(#inner_attrs)* #statements)),
    };
    quote_spanned!(mixed()=> #(#attrs)* #vis #defaultness #sig #block)
}

//! Binds the arguments of a function anew inside of its body. They are dropped there as those of a plain function: under
//! the lock, after the other values of the body, and the last argument first.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::{
    Attribute, FnArg, Pat, PatIdent, PatParen, PatType, Receiver, ReceiverKind, Signature, Token, token,
};

use crate::patterns::{is_unused, named, names_in, used, uses, uses_any, without_mut, without_parentheses};
use crate::syntax::mixed;
use crate::target::{Form, Target};

/// The arguments of a generated function.
pub(crate) struct Arguments {
    /// The signature, in which most patterns are replaced by names.
    pub(crate) sig: Signature,
    /// The statements with which the body begins.
    pub(crate) bindings: TokenStream,
    patterns: Vec<Pattern>,
}

/// The pattern that takes apart the argument `whole`.
struct Pattern {
    whole: Ident,
    pat: Pat,
}

/// The expressions in an attribute's arguments.
pub(crate) struct Expressions {
    /// Those that each call evaluates before its body.
    pub(crate) asked: TokenStream,
    /// `otherwise`, which is evaluated in place of the body.
    pub(crate) otherwise: TokenStream,
    /// `map_err`, which is also evaluated after the body.
    pub(crate) map_err: TokenStream,
}

/// A variable of generated code.
pub(crate) struct Variable {
    pub(crate) name: Ident,
    pub(crate) value: TokenStream,
}

impl Variable {
    pub(crate) fn new(name: &str, value: TokenStream) -> Self {
        Self { name: Ident::new(name, mixed()), value }
    }
}

impl Arguments {
    pub(crate) fn new(target: &Target, expressions: &Expressions) -> Self {
        let is_read_below = target.attrs.iter().any(|attr| !is_inert(attr));
        let binder = Binder { expressions, body: &target.body, is_read_below };
        let (mut sig, mut patterns) = (target.sig.clone(), Vec::new());
        let bindings = sig.inputs.iter_mut().enumerate().map(|(at, input)| match (&target.form, input) {
            (Form::Boxed(_), input) => binder.captured(input),
            (Form::Async | Form::Sync, FnArg::Receiver(receiver)) => binder.receiver(receiver),
            (Form::Async | Form::Sync, FnArg::Typed(arg)) => binder.argument(arg, at, &mut patterns),
        });
        let bindings = bindings.collect();
        Self { sig, bindings, patterns }
    }

    /// Generates the statements that define the variables, whose values may use the names in all patterns.
    pub(crate) fn define(&self, variables: &[Variable], private: &TokenStream) -> TokenStream {
        let span = mixed();
        // Each value has its own statement, so that its temporaries are dropped before the first await.
        let define = |Variable { name, value }: &Variable| quote_spanned!(span=> let #name = #value;);
        let defined: TokenStream = variables.iter().map(define).collect();
        let patterns: Vec<_> = self.used_in(&defined).collect();
        if patterns.is_empty() {
            return defined;
        }
        let names: Vec<_> = variables.iter().map(|Variable { name, .. }| name).collect();
        let given = quote_spanned! {span=>
            {
                if let ::core::option::Option::None = __given {
                    #defined
                    __given = ::core::option::Option::Some((#(#names,)*));
                }
                false
            }
        };
        // The guard of an arm sees the names with their types, and nothing is moved out of the argument before the guard
        // is true, which it never is. It is evaluated for each case of the pattern that matches, and the first one counts.
        let looked_at = patterns.into_iter().rfold(given, |inside, Pattern { whole, pat }| {
            let (used, pat) = (used(pat), without_mut(without_parentheses(pat)));
            quote_spanned!(span=> match #whole { #pat if #inside => #private::never(#used), _ => false })
        });
        quote_spanned! {span=>
            let mut __given = ::core::option::Option::None;
            let _ = #looked_at;
            let (#(#names,)*) = #private::given(__given);
        }
    }

    /// Generates the statements that take apart the arguments of which the value uses a part.
    pub(crate) fn take_apart_for(&self, value: &TokenStream) -> TokenStream {
        let taken = self.used_in(value).map(|Pattern { whole, pat }| {
            let (used, pat) = (used(pat), without_mut(pat));
            quote_spanned!(mixed()=> let #pat = #whole; let _ = #used;)
        });
        taken.collect()
    }

    fn used_in(&self, tokens: &TokenStream) -> impl Iterator<Item = &Pattern> {
        self.patterns.iter().filter(move |Pattern { pat, .. }| uses_any(tokens, pat))
    }
}

/// Binds each argument of a function.
struct Binder<'a> {
    expressions: &'a Expressions,
    body: &'a TokenStream,
    /// Whether another attribute, which expands later, may read the names of the arguments.
    is_read_below: bool,
}

impl Binder<'_> {
    /// Captures what remains outside of a body that binds its arguments anew, as `#[async_trait]` generates it.
    fn captured(&self, input: &FnArg) -> TokenStream {
        let (attrs, names) = match input {
            FnArg::Receiver(Receiver { kind: ReceiverKind::Reference(..), .. }) => return TokenStream::new(),
            FnArg::Receiver(receiver) => (&receiver.attrs, vec![Ident::from(receiver.self_token)]),
            FnArg::Typed(arg) => {
                (&arg.attrs, names_in(&arg.pat).iter().map(|name| name.ident.clone()).collect())
            }
        };
        let conditions = conditions(attrs);
        let names = names.iter().filter(|name| uses(self.body, name) || self.is_evaluated(name));
        names.map(|name| quote_spanned!(mixed()=> #conditions let _ = &#name;)).collect()
    }

    /// Captures the receiver as a whole. A body captures only those of its fields that it uses.
    fn receiver(&self, receiver: &Receiver) -> TokenStream {
        let this = Ident::from(receiver.self_token);
        match receiver.kind {
            ReceiverKind::Reference(..) => TokenStream::new(),
            _ if self.outlives(&this) => TokenStream::new(),
            _ => quote_spanned!(mixed()=> let _ = &#this;),
        }
    }

    /// Generates the statements that bind an argument, whose pattern becomes a name.
    fn argument(&self, arg: &mut PatType, at: usize, patterns: &mut Vec<Pattern>) -> TokenStream {
        let pat = Pat::clone(&arg.pat);
        match &pat {
            Pat::Ident(name @ PatIdent { by_ref: None, subpat: None, .. }) => self.simple(arg, name),
            Pat::Wild(_) => self.whole(arg, at).1,
            _ if self.must_stay(arg) => self.parts(arg, &pat),
            _ => {
                let conditions = conditions(&arg.attrs);
                let lints = lints(arg);
                let (whole, mut bindings) = self.whole(arg, at);
                let names = names_in(&pat);
                let permitted = names.iter().map(|name| self.permitted(&conditions, &name.ident));
                bindings.extend(quote_spanned! {mixed()=>
                    #conditions #lints let #pat = #whole;
                    #(#permitted)*
                });
                patterns.push(Pattern { whole, pat });
                bindings
            }
        }
    }

    fn simple(&self, arg: &mut PatType, name: &PatIdent) -> TokenStream {
        let ident = &name.ident;
        if self.outlives(ident) {
            return TokenStream::new();
        }
        // Clippy reports a use of such a name. Those with two underscores may be names of generated code.
        let is_reported = is_unused(ident) && !ident.to_string().starts_with("__");
        let is_hidden = is_reported && !self.is_read_below && !self.is_evaluated(ident);
        let outside = if is_hidden { Ident::new(&ident.to_string(), mixed()) } else { ident.clone() };
        // A path may change the argument. The compiler does not report this `mut`.
        let mutability = name.mutability.filter(|_| self.is_evaluated(ident)).map(|_| Token![mut](mixed()));
        *arg.pat = Pat::Ident(PatIdent { mutability, ..named(outside.clone()) });
        let attrs = (conditions(&arg.attrs), lints(arg));
        self.rebound(&attrs, name, &outside)
    }

    /// Generates the statement that binds the name to the value of `outside`.
    fn rebound(
        &self,
        (conditions, lints): &(TokenStream, TokenStream),
        name: &PatIdent,
        outside: &Ident,
    ) -> TokenStream {
        let PatIdent { by_ref, mutability, ident, .. } = name;
        let mutability = mutability.filter(|_| by_ref.is_none());
        let span = mixed().located_at(ident.span());
        // Clippy reports names with a `_` that are used, unless the pattern is one of generated code.
        let whole = (is_unused(ident) && mutability.is_none()).then(|| quote_spanned!(span=> @ _));
        let permitted = self.permitted(conditions, ident);
        quote_spanned! {span=>
            #conditions #lints let #mutability #ident #whole = #outside;
            #permitted
        }
    }

    /// Gives the argument a name in place of its pattern.
    fn whole(&self, arg: &mut PatType, at: usize) -> (Ident, TokenStream) {
        let whole = format_ident!("__argument_{at}", span = mixed());
        // Other attributes do not look for names in parentheses.
        *arg.pat = match self.is_read_below {
            true => Pat::Paren(PatParen {
                attrs: Vec::new(),
                paren_token: token::Paren(mixed()),
                pat: Box::new(Pat::Ident(named(whole.clone()))),
            }),
            false => Pat::Ident(named(whole.clone())),
        };
        let conditions = conditions(&arg.attrs);
        let bindings = quote_spanned!(mixed()=> #conditions let #whole = #whole;);
        (whole, bindings)
    }

    /// Tells whether the parts of an argument are needed outside of the body, by name.
    fn must_stay(&self, arg: &PatType) -> bool {
        let Expressions { asked, otherwise, map_err } = self.expressions;
        let is_conditional = || !conditions(&arg.attrs).is_empty();
        self.is_read_below
            || uses_any(map_err, &arg.pat)
            || is_conditional() && (uses_any(asked, &arg.pat) || uses_any(otherwise, &arg.pat))
    }

    /// Binds the parts of an argument that the signature takes apart.
    fn parts(&self, arg: &mut PatType, pat: &Pat) -> TokenStream {
        *arg.pat = without_mut(&arg.pat);
        let attrs = (conditions(&arg.attrs), lints(arg));
        let parts = names_in(pat).into_iter().filter(|name| !self.outlives(&name.ident));
        parts.map(|name| self.rebound(&attrs, name, &name.ident)).collect()
    }

    /// Permits the body not to use an argument that the attribute uses.
    fn permitted(&self, conditions: &TokenStream, name: &Ident) -> TokenStream {
        match self.is_evaluated(name) && !is_unused(name) {
            // An attribute would be refused under `forbid(unused_variables)`.
            true => quote_spanned!(mixed()=> #conditions let _ = &#name;),
            false => TokenStream::new(),
        }
    }

    /// Tells whether `map_err` needs the argument after the body, which does not use it.
    fn outlives(&self, name: &Ident) -> bool {
        uses(&self.expressions.map_err, name) && !uses(self.body, name)
    }

    fn is_evaluated(&self, name: &Ident) -> bool {
        let Expressions { asked, otherwise, map_err } = self.expressions;
        [asked, otherwise, map_err].into_iter().any(|tokens| uses(tokens, name))
    }
}

/// Returns the attributes without which there may be no argument.
fn conditions(attrs: &[Attribute]) -> TokenStream {
    attrs.iter().filter(|attr| attr.path().is_ident("cfg")).map(ToTokens::to_token_stream).collect()
}

/// Takes the levels of lints off an argument.
fn lints(arg: &mut PatType) -> TokenStream {
    let is_lint = |attr: &Attribute| LINTS.iter().any(|level| attr.path().is_ident(level));
    let (lints, others): (Vec<_>, Vec<_>) = std::mem::take(&mut arg.attrs).into_iter().partition(is_lint);
    arg.attrs = others;
    quote!(#(#lints)*)
}

const LINTS: [&str; 5] = ["allow", "expect", "warn", "deny", "forbid"];

/// Tells whether an attribute is one of the compiler's that do not read the arguments of a function.
fn is_inert(attr: &Attribute) -> bool {
    let names: Vec<_> = attr.path().segments.iter().map(|segment| segment.ident.to_string()).collect();
    match &names[..] {
        [name] => LINTS.contains(&name.as_str()) || INERT.split(' ').any(|inert| inert == name),
        _ => matches!(names[0].as_str(), "clippy" | "diagnostic" | "rustfmt"),
    }
}

const INERT: &str = "cfg cold deprecated doc export_name ignore inline must_use no_mangle should_panic target_feature \
                     track_caller";

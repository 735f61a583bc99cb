//! The values of arguments, which are written as expressions.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Error, Expr, ExprClosure, Ident, LitStr, Path, Result};

use crate::duration::{Argument, Length};
use crate::names;
use crate::recipe::Recipe;
use crate::syntax::{name_in, number, string, ungroup};

/// Reads a side of a read-write lock.
pub(crate) fn mode(value: &Expr) -> Result<Recipe> {
    let unknown = ("mode", "the modes are `read` and `write`; without one, the lock is a mutex");
    let not_a_name = "`mode` takes one of two names: `mode = read` or `mode = write`";
    choice(value, [("read", Recipe::Read), ("write", Recipe::Write)], not_a_name, unknown)
}

/// The value of `on_lost`: what becomes of the body when its lock or term is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnLost {
    /// The body is dropped at its next await.
    Cancel,
    /// The body runs to its end.
    Finish,
}

impl OnLost {
    pub(crate) fn read(value: &Expr) -> Result<Self> {
        let unknown = ("value", "`cancel` drops the body at its next await, `finish` lets it run to its end");
        let not_a_name = "`on_lost` takes one of two names: `on_lost = cancel` or `on_lost = finish`";
        choice(value, [("cancel", Self::Cancel), ("finish", Self::Finish)], not_a_name, unknown)
    }
}

/// Reads one of two names.
fn choice<T>(
    value: &Expr,
    choices: [(&str, T); 2],
    not_a_name: &str,
    (noun, explained): (&str, &str),
) -> Result<T> {
    let name = name_in(value).ok_or_else(|| Error::new_spanned(value, not_a_name))?;
    let hint = names::hint(name, &[choices[0].0, choices[1].0]);
    let chosen = choices.into_iter().find_map(|(known, choice)| (name == known).then_some(choice));
    chosen.ok_or_else(|| Error::new(name.span(), format!("unknown {noun} `{name}`{hint}\n{explained}")))
}

/// The wait of a call.
pub(crate) enum Wait {
    For(Length),
    Forever,
    /// The call does not wait for a contended lock or for leadership. No value of `wait` says so.
    Never,
}

const WAIT: Argument = Argument {
    name: "wait",
    noun: "a wait",
    values: "a duration: `wait = \"5s\"`, `forever` or an expression",
    zero: "a wait of zero can never acquire the lock\n\
           write `no_wait` for a call that returns at once where the lock is taken",
};

const QUOTED: &str = "`forever` is a name: write it without quotes, `wait = forever`";

impl Wait {
    pub(crate) fn read(value: &Expr) -> Result<Self> {
        if string(value).is_some_and(|text| text.value() == "forever") {
            return Err(Error::new_spanned(value, QUOTED));
        }
        match name_in(value) {
            Some(name) if name == "forever" => Ok(Self::Forever),
            _ => Length::read(value, &WAIT).map(Self::For),
        }
    }

    /// Generates an expression of type `__private::Wait`.
    pub(crate) fn expand(wait: Option<&Self>, private: &TokenStream) -> TokenStream {
        match wait {
            None => quote!(#private::Wait::Default),
            Some(Self::Forever) => quote!(#private::Wait::Forever),
            Some(Self::Never) => quote!(#private::Wait::Never),
            Some(Self::For(length)) => {
                let length = length.expand();
                quote!(#private::Wait::For(#length))
            }
        }
    }
}

/// The value of `otherwise`: the result of a call that does not run the body, because another one leads or holds the
/// lock.
pub(crate) enum Otherwise {
    /// The value for a skipped call, by the return type.
    Skip,
    /// The call waits. The span is that of the value.
    Wait(Span),
    Error,
    Value(Box<Expr>),
    /// A function of the error.
    Closure(Box<ExprClosure>),
}

impl Otherwise {
    pub(crate) fn read(value: &Expr) -> Self {
        match name_in(value) {
            Some(name) if name == "skip" => Self::Skip,
            Some(name) if name == "wait" => Self::Wait(name.span()),
            Some(name) if name == "error" => Self::Error,
            _ => match (ungroup(value), value) {
                (Expr::Closure(closure), _) => Self::Closure(Box::new(closure.clone())),
                // Parentheses distinguish a variable from one of the words above. The compiler would report them.
                (_, Expr::Paren(paren)) => Self::Value(paren.expr.clone()),
                _ => Self::Value(Box::new(value.clone())),
            },
        }
    }
}

impl ToTokens for Otherwise {
    /// Yields the user's expression, if there is one.
    fn to_tokens(&self, tokens: &mut TokenStream) {
        match self {
            Self::Value(value) => value.to_tokens(tokens),
            Self::Closure(closure) => closure.to_tokens(tokens),
            Self::Skip | Self::Wait(_) | Self::Error => {}
        }
    }
}

/// The value of `client`: the name of a client, or an expression that yields one.
pub(crate) enum Client {
    Named(LitStr),
    Computed(Box<Expr>),
}

impl Client {
    pub(crate) fn read(value: &Expr) -> Result<Self> {
        match string(value) {
            Some(name) if name.value().is_empty() => {
                Err(Error::new(name.span(), "the name of a client cannot be empty"))
            }
            Some(name) => Ok(Self::Named(name.clone())),
            None => Ok(Self::Computed(Box::new(value.clone()))),
        }
    }

    /// Generates an expression of type `Result<Client, LockError>`.
    pub(crate) fn expand(client: Option<&Self>, private: &TokenStream) -> TokenStream {
        match client {
            None => quote!(#private::client()),
            Some(Self::Named(name)) => quote!(#private::named_client(#name)),
            // With this span, a type mismatch is reported at the user's expression.
            Some(Self::Computed(expr)) => quote_spanned!(expr.span()=> #private::client_of(&(#expr))),
        }
    }
}

/// Reads the name under which the body sees its guard or its term.
pub(crate) fn guard(value: &Expr) -> Result<Ident> {
    // `self` and `Self` also parse as identifiers, but a `let` cannot bind them.
    let name = name_in(value).filter(|name| *name != "self" && *name != "Self");
    name.cloned().ok_or_else(|| {
        Error::new_spanned(value, "`guard` takes a name for the guard in the body: `guard = held`")
    })
}

/// Reads the function from the lock's error to that of the annotated function.
pub(crate) fn map_err(value: &Expr) -> Result<Expr> {
    match ungroup(value) {
        Expr::Path(_) | Expr::Closure(_) => Ok(value.clone()),
        _ => Err(Error::new_spanned(
            value,
            "`map_err` takes a function or a closure: `map_err = |error| Status::unavailable(error.to_string())`",
        )),
    }
}

/// Reads the name of the annotated function in logs, and of its locks in events and metrics.
pub(crate) fn name(value: &Expr) -> Result<LitStr> {
    match string(value) {
        Some(name) if !name.value().trim().is_empty() => Ok(name.clone()),
        Some(name) => Err(Error::new(name.span(), "a name cannot be empty")),
        None => Err(Error::new_spanned(value, "`name` takes a string: `name = \"settle orders\"`")),
    }
}

/// Reads the path of the crate `zklock`, bare or quoted.
pub(crate) fn krate(value: &Expr) -> Result<Path> {
    match (ungroup(value), string(value)) {
        (_, Some(quoted)) => quoted.parse_with(Path::parse_mod_style).map_err(|_| {
            Error::new(quoted.span(), format!("{:?} is not the path of a crate", quoted.value()))
        }),
        (Expr::Path(path), _) if path.qself.is_none() => Ok(path.path.clone()),
        _ => {
            let message = "`crate` takes the path of the `zklock` crate: `crate = some::path`";
            Err(Error::new_spanned(value, message))
        }
    }
}

/// Reads a number of permits.
pub(crate) fn permits(value: &Expr) -> Result<Expr> {
    match (number(value), ungroup(value)) {
        (Some(0), _) => Err(Error::new_spanned(value, "the number of permits is at least one")),
        (None, Expr::Lit(_)) => Err(Error::new_spanned(value, "permits are counted: `permits = 1, of = 5`")),
        _ => Ok(value.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Expr {
        syn::parse_str(text).unwrap()
    }

    #[track_caller]
    fn refused<T>(read: impl FnOnce(&Expr) -> Result<T>, input: &str, expected: &str) {
        let refused = read(&value(input)).err().map(|error| error.to_string());
        assert_eq!(refused.as_deref(), Some(expected), "{input}");
    }

    #[test]
    fn a_value_that_is_none_of_the_names_is_refused() {
        let modes = "the modes are `read` and `write`; without one, the lock is a mutex";
        refused(mode, "exclusive", &format!("unknown mode `exclusive`\n{modes}"));
        refused(mode, "shared", &format!("unknown mode `shared`, did you mean `read`?\n{modes}"));
        let values = "`cancel` drops the body at its next await, `finish` lets it run to its end";
        refused(OnLost::read, "drop", &format!("unknown value `drop`, did you mean `cancel`?\n{values}"));
        let names = "`mode` takes one of two names: `mode = read` or `mode = write`";
        for other in ["\"read\"", "read | write", "[read]", "Mode::Read", "7", "pick(read)"] {
            refused(mode, other, names);
        }
    }

    #[test]
    fn a_value_that_is_not_a_duration_is_refused() {
        let zero = "a wait of zero can never acquire the lock\n\
                    write `no_wait` for a call that returns at once where the lock is taken";
        for (input, expected) in [
            (r#""0s""#, zero),
            ("0", zero),
            (r#""forever""#, QUOTED),
            ("5s", "quote the duration: `wait = \"5s\"`"),
            ("1.5", "quote the duration: `wait = \"1.5\"`"),
            ("-5", "a wait cannot be negative"),
            ("true", "`wait` takes a duration: `wait = \"5s\"`, `forever` or an expression"),
            (
                r#""5 parsecs""#,
                "\"5 parsecs\" is not a duration: unknown time unit \"parsecs\", supported units: \
                 ns, us/µs, ms, sec, min, hours, days, weeks, months, years (and few variations)\n\
                 write for example \"5s\", \"1500ms\" or \"1m 30s\"",
            ),
        ] {
            refused(Wait::read, input, expected);
        }
        let wait = Wait::read(&value(r#""1m 1500ms""#)).unwrap();
        let shown = Wait::expand(Some(&wait), &quote!(p)).to_string().replace(' ', "");
        assert_eq!(shown, "p::Wait::For(::core::time::Duration::new(61u64,500000000u32))");
    }

    #[test]
    fn a_word_a_closure_or_a_value_says_what_is_returned() {
        let otherwise = |text: &str| Otherwise::read(&value(text));
        assert!(matches!(otherwise("skip"), Otherwise::Skip));
        assert!(matches!(otherwise("wait"), Otherwise::Wait(_)));
        assert!(matches!(otherwise("error"), Otherwise::Error));
        for closure in ["|error| Err(error.into())", "move |_| 7"] {
            assert!(matches!(otherwise(closure), Otherwise::Closure(_)), "{closure}");
        }
        for value in ["(skip)", "Ok(0)", "{ wait }", "Self::error", "return 7", "(|| 7)()"] {
            assert!(matches!(otherwise(value), Otherwise::Value(_)), "{value}");
        }
    }

    #[test]
    fn an_invalid_value_of_an_argument_is_refused() {
        for (input, expected) in [("\"::other::zk\"", ":: other :: zk"), ("super::zk", "super :: zk")] {
            assert_eq!(krate(&value(input)).unwrap().to_token_stream().to_string(), expected);
        }
        refused(krate, r#""a b""#, "\"a b\" is not the path of a crate");
        refused(krate, "7", "`crate` takes the path of the `zklock` crate: `crate = some::path`");
        refused(Client::read, "\"\"", "the name of a client cannot be empty");
        let map = "`map_err` takes a function or a closure: \
                   `map_err = |error| Status::unavailable(error.to_string())`";
        refused(map_err, "f(g)", map);
        refused(map_err, "\"into\"", map);
        refused(name, "\" \"", "a name cannot be empty");
        refused(name, "settle", "`name` takes a string: `name = \"settle orders\"`");
        for other in ["_", "self", "a.b", "\"held\""] {
            assert!(guard(&value(other)).is_err(), "{other}");
        }
        refused(permits, "0", "the number of permits is at least one");
        refused(permits, "\"5\"", "permits are counted: `permits = 1, of = 5`");
    }
}

//! Reads the arguments that `#[distributed_lock]` and `#[leader_only]` have in common.
//!
//! Uses only `arguments`, `grouped`, `names`, `on_lost`, `once`, `otherwise` and `reading`.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote, quote_spanned};
use syn::parse::{Parse, ParseStream};
use syn::spanned::Spanned;
use syn::{Error, Expr, Ident, LitStr, Result};

use crate::arguments::{Expressions, Variable};
use crate::grouped::{name_in, string, ungroup};
use crate::names;
use crate::on_lost::OnLost;
use crate::once::{Once, Period, Tick};
use crate::otherwise::Otherwise;
use crate::reading::set_once;

/// Returns the error about the unknown argument `name` of an attribute that takes the arguments `own` and the
/// shared ones.
pub(crate) fn unknown(name: &Ident, own: &[&'static str]) -> Error {
    names::unknown(name, &names(own))
}

/// Tells whether an attribute that takes the arguments `own` and the shared ones takes the argument `name`.
pub(crate) fn is_known(name: &Ident, own: &[&'static str]) -> bool {
    names(own).iter().any(|known| name == known)
}

/// Returns the names of the arguments of an attribute that takes the arguments `own` and the shared ones.
pub(crate) fn names(own: &[&'static str]) -> Vec<&'static str> {
    [own, &NAMES].concat()
}

/// The values of the shared arguments.
#[derive(Default)]
pub(crate) struct Shared {
    pub(crate) once: Option<Once>,
    pub(crate) on_lost: Option<OnLost>,
    pub(crate) client: Option<Client>,
    pub(crate) guard: Option<Guard>,
    pub(crate) map_err: Option<MapErr>,
    pub(crate) name: Option<Name>,
    pub(crate) krate: Option<Krate>,
}

/// The shared arguments that have been read so far.
#[derive(Default)]
pub(crate) struct Draft {
    once_per: Option<Period>,
    once_per_seen: bool,
    tick: Option<Tick>,
    on_lost: Option<OnLost>,
    client: Option<Client>,
    guard: Option<Guard>,
    map_err: Option<MapErr>,
    name: Option<Name>,
    krate: Option<Krate>,
}

const NAMES: [&str; 8] = ["once_per", "tick", "on_lost", "client", "guard", "map_err", "name", "crate"];

impl Draft {
    /// Reads the value of the argument `name`.
    pub(crate) fn argument(&mut self, name: &Ident, input: ParseStream<'_>) -> Result<()> {
        match name.to_string().as_str() {
            "once_per" => {
                self.once_per_seen = true;
                set_once(&mut self.once_per, name, input)
            }
            "tick" => set_once(&mut self.tick, name, input),
            "on_lost" => set_once(&mut self.on_lost, name, input),
            "client" => set_once(&mut self.client, name, input),
            "guard" => set_once(&mut self.guard, name, input),
            "map_err" => set_once(&mut self.map_err, name, input),
            "name" => set_once(&mut self.name, name, input),
            "crate" => set_once(&mut self.krate, name, input),
            _ => Err(unknown(name, &[])),
        }
    }

    pub(crate) fn finish(self) -> Result<Shared> {
        let Self { once_per, once_per_seen, tick, on_lost, client, guard, map_err, name, krate } = self;
        // A period that could not be read has already been reported.
        let tick = tick.filter(|_| once_per.is_some() || !once_per_seen);
        let once = Once::new(once_per, tick)?;
        Ok(Shared { once, on_lost, client, guard, map_err, name, krate })
    }
}

impl Shared {
    /// Returns the expressions of an attribute whose variables have these values.
    pub(crate) fn expressions(&self, variables: &[Variable], otherwise: Option<&Otherwise>) -> Expressions {
        Expressions {
            asked: variables.iter().map(|variable| variable.value.clone()).collect(),
            otherwise: otherwise.to_token_stream(),
            map_err: self.map_err.as_ref().map(|MapErr(map)| map).to_token_stream(),
        }
    }

    /// Gives the paths in this expression the name of the function, if there is one.
    pub(crate) fn named(&self, paths: TokenStream, private: &TokenStream) -> TokenStream {
        match &self.name {
            Some(Name(name)) => quote!(#private::named(#paths, #name)),
            None => paths,
        }
    }
}

/// `client = "name"`, or an expression that yields a client.
pub(crate) enum Client {
    Named(LitStr),
    Computed(Box<Expr>),
}

/// `guard = ident`.
pub(crate) struct Guard(pub(crate) Ident);

/// `map_err = …`: a function from the lock's error to that of the annotated function.
pub(crate) struct MapErr(pub(crate) Expr);

/// `name = "…"`: the name of the annotated function in logs, and of its locks in events and metrics.
pub(crate) struct Name(pub(crate) LitStr);

/// `crate = some::path`, bare or quoted.
pub(crate) struct Krate(pub(crate) syn::Path);

impl Parse for Client {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let value: Expr = input.parse()?;
        match string(&value) {
            Some(name) if name.value().is_empty() => {
                Err(Error::new(name.span(), "the name of a client cannot be empty"))
            }
            Some(name) => Ok(Self::Named(name.clone())),
            None => Ok(Self::Computed(Box::new(value))),
        }
    }
}

impl Client {
    /// Generates an expression of type `Result<Client, LockError>`.
    pub(crate) fn expand(client: Option<&Self>, private: &TokenStream) -> TokenStream {
        match client {
            None => quote!(#private::default_client()),
            Some(Self::Named(name)) => quote!(#private::named_client(#name)),
            // With this span, a type mismatch is reported at the user's expression.
            Some(Self::Computed(expr)) => quote_spanned!(expr.span()=> #private::client_of(&(#expr))),
        }
    }
}

impl Parse for Guard {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let value: Expr = input.parse()?;
        // `self` and `Self` also parse as identifiers, but a `let` cannot bind them.
        let name = name_in(&value).filter(|name| *name != "self" && *name != "Self");
        name.cloned().map(Self).ok_or_else(|| {
            Error::new_spanned(&value, "`guard` takes a name for the guard in the body: `guard = held`")
        })
    }
}

impl Parse for MapErr {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let value: Expr = input.parse()?;
        match ungroup(&value) {
            Expr::Path(_) | Expr::Closure(_) => Ok(Self(value)),
            _ => Err(Error::new_spanned(
                &value,
                "`map_err` takes a function or a closure: `map_err = |error| Status::unavailable(error.to_string())`",
            )),
        }
    }
}

impl Parse for Name {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let value: Expr = input.parse()?;
        match string(&value) {
            Some(name) if !name.value().trim().is_empty() => Ok(Self(name.clone())),
            Some(name) => Err(Error::new(name.span(), "a name cannot be empty")),
            None => Err(Error::new_spanned(&value, "`name` takes a string: `name = \"settle orders\"`")),
        }
    }
}

impl Parse for Krate {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        if input.peek(LitStr) {
            let quoted: LitStr = input.parse()?;
            return quoted.parse_with(syn::Path::parse_mod_style).map(Self).map_err(|_| {
                let message = format!("{:?} is not the path of a crate", quoted.value());
                Error::new(quoted.span(), message)
            });
        }
        input.call(syn::Path::parse_mod_style).map(Self).map_err(|error| {
            Error::new(error.span(), "`crate` takes the path of the `zklock` crate: `crate = some::path`")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use syn::ext::IdentExt;
    use syn::parse::Parser;

    /// Parses at most one argument.
    fn parse(input: &str) -> std::result::Result<Shared, String> {
        let parser = |input: ParseStream<'_>| {
            let mut draft = Draft::default();
            if !input.is_empty() {
                let name = input.call(Ident::parse_any)?;
                draft.argument(&name, input)?;
            }
            draft.finish()
        };
        parser.parse_str(input).map_err(|error| error.to_string())
    }

    #[track_caller]
    fn check(input: &str, expected: &str) {
        assert_eq!(parse(input).err().as_deref(), Some(expected), "{input}");
    }

    #[test]
    fn the_crate_may_be_quoted() {
        for (input, expected) in [("\"::other::zk\"", ":: other :: zk"), ("super::zk", "super :: zk")] {
            let krate = parse(&format!("crate = {input}")).unwrap().krate.unwrap();
            assert_eq!(krate.0.to_token_stream().to_string(), expected);
        }
        check(r#"crate = "a b""#, "\"a b\" is not the path of a crate");
        check(r#"crate = 7"#, "`crate` takes the path of the `zklock` crate: `crate = some::path`");
    }

    #[test]
    fn clients_are_named_or_computed() {
        let show = |input: &str| {
            let args = parse(input).unwrap();
            Client::expand(args.client.as_ref(), &quote!(p)).to_string().replace(' ', "")
        };
        assert_eq!(show(""), "p::default_client()");
        assert_eq!(show(r#"client = "reporting""#), r#"p::named_client("reporting")"#);
        assert_eq!(show("client = self.client"), "p::client_of(&(self.client))");
        check(r#"client = """#, "the name of a client cannot be empty");
    }

    #[test]
    fn errors_are_mapped_by_a_function_or_a_closure() {
        for map in ["Status::from_lock", "into", "|error| Failed(error)", "crate::map::<u8>"] {
            assert!(parse(&format!("map_err = {map}")).unwrap().map_err.is_some(), "{map}");
        }
        let expected = "`map_err` takes a function or a closure: \
                        `map_err = |error| Status::unavailable(error.to_string())`";
        check("map_err = f(g)", expected);
        check("map_err = \"into\"", expected);
    }

    #[test]
    fn the_name_is_a_string() {
        assert_eq!(parse(r#"name = "settle""#).unwrap().name.unwrap().0.value(), "settle");
        check(r#"name = " ""#, "a name cannot be empty");
        check("name = settle", "`name` takes a string: `name = \"settle orders\"`");
    }

    #[test]
    fn the_guard_is_a_name() {
        for guard in ["_", "self", "a.b", "\"held\"", "mut held"] {
            assert!(parse(&format!("guard = {guard}")).is_err(), "{guard}");
        }
    }
}

//! What stands between the parentheses of the attribute.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::spanned::Spanned;
use syn::{Error, Expr, Ident, LitStr, Result};

use crate::errors::Errors;
use crate::grouped::{string, ungroup};
use crate::mode::Mode;
use crate::names;
use crate::on_lost::OnLost;
use crate::once::{Once, Period, Tick};
use crate::path::Path;
use crate::reading::{each, ended, set_once};
use crate::wait::Wait;

/// The arguments of `#[distributed_lock]`.
pub(crate) struct LockArgs {
    pub(crate) path: Path,
    pub(crate) mode: Option<Mode>,
    pub(crate) wait: Option<Wait>,
    pub(crate) once: Option<Once>,
    pub(crate) on_lost: Option<OnLost>,
    pub(crate) client: Option<Client>,
    pub(crate) guard: Option<Guard>,
    pub(crate) krate: Option<Krate>,
}

/// `client = "name"`, or an expression that yields a client.
pub(crate) enum Client {
    Named(LitStr),
    Computed(Box<Expr>),
}

/// `guard = ident`.
pub(crate) struct Guard(pub(crate) Ident);

/// `crate = some::path`, bare or quoted.
pub(crate) struct Krate(pub(crate) syn::Path);

#[derive(Default)]
struct Draft {
    path: Option<Path>,
    mode: Option<Mode>,
    wait: Option<Wait>,
    once_per: Option<Period>,
    tick: Option<Tick>,
    on_lost: Option<OnLost>,
    client: Option<Client>,
    guard: Option<Guard>,
    krate: Option<Krate>,
    path_seen: bool,
}

impl Parse for LockArgs {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let mut draft = Draft::default();
        let mut errors = Errors::default();
        each(input, &mut errors, |input| draft.argument(input))?;
        let path = errors.keep(draft.take_path()).flatten();
        let once = errors.keep(Once::new(draft.once_per.take(), draft.tick.take())).flatten();
        errors.finish()?;
        let Draft { mode, wait, on_lost, client, guard, krate, .. } = draft;
        // A path that is neither there nor complained about does not exist.
        path.map(|path| Self { path, mode, wait, once, on_lost, client, guard, krate })
            .ok_or_else(missing_path)
    }
}

impl Draft {
    const NAMES: [&str; 9] =
        ["path", "mode", "wait", "once_per", "tick", "on_lost", "client", "guard", "crate"];

    fn argument(&mut self, input: ParseStream<'_>) -> Result<()> {
        let name = input.call(Ident::parse_any).map_err(|error| {
            // It is the path, most likely, and then it is not missing.
            self.path_seen = true;
            Error::new(error.span(), "expected an argument, for example `path = \"/orders/{order.id}\"`")
        })?;
        match name.to_string().as_str() {
            "path" => {
                self.path_seen = true;
                set_once(&mut self.path, &name, input)
            }
            "mode" => set_once(&mut self.mode, &name, input),
            "wait" => set_once(&mut self.wait, &name, input),
            "once_per" => set_once(&mut self.once_per, &name, input),
            "tick" => set_once(&mut self.tick, &name, input),
            "on_lost" => set_once(&mut self.on_lost, &name, input),
            "client" => set_once(&mut self.client, &name, input),
            "guard" => set_once(&mut self.guard, &name, input),
            "crate" => set_once(&mut self.krate, &name, input),
            _ => Err(names::unknown(&name, &Self::NAMES)),
        }?;
        ended(&name, input)
    }

    /// The path, or none if its argument was there and already complained about.
    fn take_path(&mut self) -> Result<Option<Path>> {
        match self.path.take() {
            None if !self.path_seen => Err(missing_path()),
            path => Ok(path),
        }
    }
}

fn missing_path() -> Error {
    Error::new(Span::call_site(), "`path` is missing: `#[distributed_lock(path = \"/orders/{order.id}\")]`")
}

impl Parse for Client {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let value: Expr = input.parse()?;
        match string(&value) {
            Some(name) if name.value().is_empty() => {
                Err(Error::new(name.span(), "the name of a client is not empty"))
            }
            Some(name) => Ok(Self::Named(name.clone())),
            None => Ok(Self::Computed(Box::new(value))),
        }
    }
}

impl Client {
    /// The expression of type `Result<Client, LockError>`.
    pub(crate) fn expand(client: Option<&Self>, private: &TokenStream) -> TokenStream {
        match client {
            None => quote!(#private::default_client()),
            Some(Self::Named(name)) => quote!(#private::named_client(#name)),
            // A type mismatch is then reported at the user's expression.
            Some(Self::Computed(expr)) => quote_spanned!(expr.span()=> #private::client_of(&(#expr))),
        }
    }
}

impl Parse for Guard {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let value: Expr = input.parse()?;
        let ident = match ungroup(&value) {
            // `self` and `Self` are paths, too, but no names to bind.
            Expr::Path(path) => path.path.get_ident().filter(|ident| *ident != "self" && *ident != "Self"),
            _ => None,
        };
        ident.cloned().map(Self).ok_or_else(|| {
            Error::new_spanned(&value, "`guard` takes the name that the body uses for it: `guard = held`")
        })
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
            Error::new(error.span(), "`crate` takes the path of this crate: `crate = some::path`")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quote::ToTokens;

    fn parse(input: &str) -> std::result::Result<LockArgs, Vec<String>> {
        syn::parse_str(input).map_err(|error: Error| error.into_iter().map(|one| one.to_string()).collect())
    }

    #[track_caller]
    fn check(input: &str, expected: &[&str]) {
        let errors = parse(input).err().unwrap_or_default();
        assert_eq!(errors, expected, "{input}");
    }

    const MISSING: &str = "`path` is missing: `#[distributed_lock(path = \"/orders/{order.id}\")]`";

    #[test]
    fn every_argument_is_read() {
        let args = parse(
            r#"path = ["/a", b], mode = read, wait = "5s", on_lost = finish, client = pool.of(a, b), guard = held,
            crate = crate::zk, once_per = "1m", tick = "/t","#,
        );
        let args = args.unwrap();
        assert!(matches!(args.path, Path::Several(paths) if paths.len() == 2));
        assert!(matches!(args.mode, Some(Mode::Read)));
        assert!(matches!(args.wait, Some(Wait::For(_))));
        assert!(args.once.is_some());
        assert!(matches!(args.on_lost, Some(OnLost::Finish)));
        assert!(matches!(args.client, Some(Client::Computed(_))));
        assert_eq!(args.guard.unwrap().0, "held");
        assert_eq!(args.krate.unwrap().0.to_token_stream().to_string(), "crate :: zk");
    }

    #[test]
    fn the_crate_may_be_quoted() {
        for (input, expected) in [("\"::other::zk\"", ":: other :: zk"), ("super::zk", "super :: zk")] {
            let krate = parse(&format!("path = \"/a\", crate = {input}")).unwrap().krate.unwrap();
            assert_eq!(krate.0.to_token_stream().to_string(), expected);
        }
        check(r#"path = "/a", crate = "a b""#, &["\"a b\" is not the path of a crate"]);
        check(r#"path = "/a", crate = 7"#, &["`crate` takes the path of this crate: `crate = some::path`"]);
    }

    #[test]
    fn clients_are_named_or_computed() {
        let show = |input: &str| {
            let args = parse(&format!("path = \"/a\"{input}")).unwrap();
            Client::expand(args.client.as_ref(), &quote!(p)).to_string().replace(' ', "")
        };
        assert_eq!(show(""), "p::default_client()");
        assert_eq!(show(r#", client = "reporting""#), r#"p::named_client("reporting")"#);
        assert_eq!(show(", client = self.client"), "p::client_of(&(self.client))");
        check(r#"path = "/a", client = """#, &["the name of a client is not empty"]);
    }

    #[test]
    fn the_path_is_required() {
        check("", &[MISSING]);
        check("wait = forever", &[MISSING]);
        check("path = \"\"", &["the path \"\" is empty: write for example \"/orders/{id}\""]);
    }

    #[test]
    fn unknown_and_repeated_arguments_are_refused() {
        let known = "the arguments are `path`, `mode`, `wait`, `once_per`, `tick`, `on_lost`, `client`, `guard`, `crate`";
        check(r#"path = "/a", path = "/b""#, &["`path` is given twice"]);
        check(
            r#"waits = "5s", path = "/a""#,
            &[&format!("unknown argument `waits`, did you mean `wait`?\n{known}")],
        );
        check(r#"path = "/a", skip"#, &[&format!("unknown argument `skip`\n{known}")]);
        check(r#"path = "/a", mode = read, mode = write"#, &["`mode` is given twice"]);
        check(r#"path = "/a", map_err = f::<a, b>(c)"#, &[&format!("unknown argument `map_err`\n{known}")]);
    }

    #[test]
    fn every_mistake_is_reported() {
        check(
            r#"wait = 5, guard = "held", "/a""#,
            &[
                "a wait needs a unit: `wait = \"5s\"`",
                "`guard` takes the name that the body uses for it: `guard = held`",
                "expected an argument, for example `path = \"/orders/{order.id}\"`",
            ],
        );
    }

    #[test]
    fn values_are_required() {
        check("path", &["`path` needs a value: `path = …`"]);
        check("path = ", &["`path` needs a value after the `=`"]);
        check(r#"path("/a")"#, &["`path` needs a value: `path = …`"]);
        check(r#"path = "/a" wait = "5s""#, &["expected `,` after the value of `path`"]);
    }

    #[test]
    fn the_guard_is_a_name() {
        for guard in ["_", "self", "a.b", "\"held\"", "mut held"] {
            assert!(parse(&format!("path = \"/a\", guard = {guard}")).is_err(), "{guard}");
        }
    }
}

//! What stands between the parentheses of the attribute.

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{quote, quote_spanned};
use syn::ext::IdentExt;
use syn::parse::discouraged::Speculative;
use syn::parse::{Parse, ParseStream};
use syn::spanned::Spanned;
use syn::{Error, Expr, Ident, LitStr, Result, Token};

use crate::errors::Errors;
use crate::grouped::{string, ungroup};
use crate::names;
use crate::path::Path;
use crate::wait::Wait;

/// The arguments of `#[distributed_lock]`.
pub(crate) struct LockArgs {
    pub(crate) path: Path,
    pub(crate) wait: Option<Wait>,
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
    wait: Option<Wait>,
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
        errors.finish()?;
        let Draft { wait, client, guard, krate, .. } = draft;
        // A path that is neither there nor complained about does not exist.
        path.map(|path| Self { path, wait, client, guard, krate }).ok_or_else(missing_path)
    }
}

impl Draft {
    const NAMES: [&str; 5] = ["path", "wait", "client", "guard", "crate"];

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
            "wait" => set_once(&mut self.wait, &name, input),
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

/// Reads one argument after the other, also after mistakes.
pub(crate) fn each(
    input: ParseStream<'_>,
    errors: &mut Errors,
    mut argument: impl FnMut(ParseStream<'_>) -> Result<()>,
) -> Result<()> {
    while !input.is_empty() {
        if let Err(error) = argument(input) {
            errors.push(error);
            skip_to_comma(input);
        }
        if !input.is_empty() {
            input.parse::<Token![,]>()?;
        }
    }
    Ok(())
}

/// Checks that nothing follows the value of an argument but the next one.
pub(crate) fn ended(name: &Ident, input: ParseStream<'_>) -> Result<()> {
    match input.is_empty() || input.peek(Token![,]) {
        true => Ok(()),
        false => Err(input.error(format!("expected `,` after the value of `{name}`"))),
    }
}

/// Reads the value of an argument that may be given once.
pub(crate) fn set_once<T: Parse>(slot: &mut Option<T>, name: &Ident, input: ParseStream<'_>) -> Result<()> {
    if !input.peek(Token![=]) {
        return Err(Error::new(name.span(), format!("`{name}` needs a value: `{name} = …`")));
    }
    input.parse::<Token![=]>()?;
    if input.is_empty() || input.peek(Token![,]) {
        return Err(Error::new(name.span(), format!("`{name}` needs a value after the `=`")));
    }
    let value = input.parse()?;
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(Error::new(name.span(), format!("`{name}` is given twice"))),
    }
}

/// Goes to the end of an argument that could not be read, so that the ones behind it are still looked at.
fn skip_to_comma(input: ParseStream<'_>) {
    let ahead = input.fork();
    let value = ahead.parse::<Token![=]>().and_then(|_| ahead.parse::<Expr>());
    if value.is_ok() {
        input.advance_to(&ahead);
    }
    while !input.is_empty() && !input.peek(Token![,]) {
        // A token tree can be taken from any input that is not empty.
        let _ = input.parse::<TokenTree>();
    }
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
        let args =
            parse(r#"path = "/a", wait = "5s", client = pool.of(a, b), guard = held, crate = crate::zk,"#);
        let args = args.unwrap();
        assert!(matches!(args.path, Path::Template { .. }));
        assert!(matches!(args.wait, Some(Wait::Exactly(_))));
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
        let known = "the arguments are `path`, `wait`, `client`, `guard`, `crate`";
        check(r#"path = "/a", path = "/b""#, &["`path` is given twice"]);
        check(
            r#"waits = "5s", path = "/a""#,
            &[&format!("unknown argument `waits`, did you mean `wait`?\n{known}")],
        );
        check(r#"path = "/a", skip"#, &[&format!("unknown argument `skip`\n{known}")]);
        check(r#"path = "/a", mode = f::<a, b>(c)"#, &[&format!("unknown argument `mode`\n{known}")]);
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

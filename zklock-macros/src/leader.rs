//! Reads the arguments of `#[leader_only]`.
//!
//! Uses only `errors`, `otherwise`, `path`, `reading`, `shared` and `wait`.

use proc_macro2::{Span, TokenStream};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::{Error, Expr, Ident, Result, Signature};

use crate::errors::Errors;
use crate::otherwise::Otherwise;
use crate::path::{OnePath, check_quoted, constant};
use crate::reading::{each, ended, set_once, set_once_at};
use crate::shared::{self, Shared, is_known, unknown};
use crate::wait::Wait;

/// The arguments of `#[leader_only]`.
pub(crate) struct LeaderArgs {
    path: Option<Election>,
    pub(crate) otherwise: Otherwise,
    /// The bound of `otherwise = wait`.
    pub(crate) wait: Option<Wait>,
    pub(crate) shared: Shared,
}

#[derive(Default)]
struct Draft {
    path: Option<Election>,
    otherwise: Option<Otherwise>,
    wait: Option<(Span, Wait)>,
    shared: shared::Draft,
}

/// The value of `path`: the path of the election.
struct Election(OnePath);

impl Parse for LeaderArgs {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let mut draft = Draft::default();
        let mut errors = Errors::default();
        each(input, &mut errors, |input| draft.argument(input))?;
        let Draft { path, otherwise, wait, shared } = draft;
        let shared = errors.keep(shared.finish()).unwrap_or_default();
        let otherwise = otherwise.unwrap_or(Otherwise::Skip);
        if let (Some((span, _)), false) = (&wait, matches!(otherwise, Otherwise::Wait(_))) {
            errors.push(Error::new(*span, "`wait` bounds `otherwise = wait`, which is missing"));
        }
        errors.finish()?;
        Ok(Self { path, otherwise, wait: wait.map(|(_, wait)| wait), shared })
    }
}

impl Draft {
    const NAMES: [&str; 3] = ["path", "otherwise", "wait"];

    fn argument(&mut self, input: ParseStream<'_>) -> Result<()> {
        let name = input.call(Ident::parse_any).map_err(|error| {
            Error::new(error.span(), "expected an argument, for example `path = \"/leader\"`")
        })?;
        if !is_known(&name, &Self::NAMES) {
            return Err(unknown(&name, &Self::NAMES));
        }
        match name.to_string().as_str() {
            "path" => set_once(&mut self.path, &name, input),
            "otherwise" => set_once(&mut self.otherwise, &name, input),
            "wait" => set_once_at(&mut self.wait, &name, input),
            _ => self.shared.argument(&name, input),
        }?;
        ended(&name, input)
    }
}

impl LeaderArgs {
    /// Generates an expression of type `__private::Path`.
    pub(crate) fn path(&self, sig: &Signature, private: &TokenStream) -> Result<TokenStream> {
        Ok(match &self.path {
            Some(Election(path)) => path.in_function(sig)?.expand(private),
            None => constant(DEFAULT_PATH, private),
        })
    }
}

impl Parse for Election {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        check_quoted(input)?;
        let value: Expr = input.parse()?;
        OnePath::read(&value, "an election has one path: `path = \"/leader\"`").map(Self)
    }
}

const DEFAULT_PATH: &str = "/leader";

#[cfg(test)]
mod tests {
    use super::*;
    use quote::{ToTokens, quote};

    use crate::names::in_table;
    use crate::on_lost::OnLost;
    use crate::shared::Client;

    fn parse(input: &str) -> std::result::Result<LeaderArgs, Vec<String>> {
        syn::parse_str(input).map_err(|error: Error| error.into_iter().map(|one| one.to_string()).collect())
    }

    #[track_caller]
    fn check(input: &str, expected: &[&str]) {
        let errors = parse(input).err().unwrap_or_default();
        assert_eq!(errors, expected, "{input}");
    }

    fn path(input: &str) -> String {
        let sig = syn::parse_str("fn f(id: u64)").unwrap();
        parse(input).unwrap().path(&sig, &quote!(p)).unwrap().to_string().replace(' ', "")
    }

    #[test]
    fn nothing_needs_to_be_given() {
        let args = parse("").unwrap();
        assert!(matches!(args.otherwise, Otherwise::Skip));
        assert!(
            args.shared.on_lost.is_none()
                && args.shared.client.is_none()
                && args.shared.guard.is_none()
                && args.shared.krate.is_none()
        );
        let site = r#"{static__SITE:p::Site=p::Site::new("/leader","/leader");p::constant(&__SITE)}"#;
        assert_eq!(path(""), site);
    }

    #[test]
    fn every_argument_is_read() {
        let args = parse(
            r#"path = "/a", otherwise = wait, on_lost = finish, client = "b", guard = held, crate = crate::zk,
            once_per = "1m", tick = "/t""#,
        );
        let args = args.unwrap();
        assert!(args.shared.once.is_some());
        assert!(matches!(args.shared.on_lost, Some(OnLost::Finish)));
        assert!(matches!(args.otherwise, Otherwise::Wait(_)));
        assert!(matches!(args.shared.client, Some(Client::Named(_))));
        assert_eq!(args.shared.guard.unwrap().0, "held");
        assert_eq!(args.shared.krate.unwrap().0.to_token_stream().to_string(), "crate :: zk");
    }

    #[test]
    fn the_path_is_one() {
        assert_eq!(path("path = self.path()"), "p::path_of(&(self.path()))");
        let template = r#"p::PathTemplate::new("/a/{id}").literal("/a/").segment(&(id)).finish()"#;
        assert_eq!(path(r#"path = "/a/{id}""#), template);
        check(r#"path = ["/a", "/b"]"#, &["an election has one path: `path = \"/leader\"`"]);
        check(r#"path = &["/a"]"#, &["an election has one path: `path = \"/leader\"`"]);
        check(r#"path = "a""#, &["the path \"a\" is relative: start it with a `/`"]);
    }

    #[test]
    fn the_documented_arguments_are_those_that_are_read() {
        let known = shared::names(&Draft::NAMES);
        assert_eq!(in_table(include_str!("../doc/leader_only.md")), known.iter().copied().collect());
        for name in known {
            let refused = parse(name).err().unwrap_or_default();
            assert!(!refused.iter().any(|error| error.contains("unknown argument")), "{refused:?}");
        }
    }

    #[test]
    fn unknown_and_repeated_arguments_are_refused() {
        let known = "the arguments are `path`, `otherwise`, `wait`, `once_per`, `tick`, `on_lost`, `client`, `guard`, \
                     `map_err`, `name`, `crate`";
        check("mode = read", &[&format!("unknown argument `mode`\n{known}")]);
        check("wait = forever", &["`wait` bounds `otherwise = wait`, which is missing"]);
        check("skip", &[&format!("unknown argument `skip`\n{known}")]);
        check(
            "otherwize = skip",
            &[&format!("unknown argument `otherwize`, did you mean `otherwise`?\n{known}")],
        );
        check("otherwise = skip, otherwise = wait", &["`otherwise` is given twice"]);
        check("otherwise", &["`otherwise` needs a value: `otherwise = …`"]);
        check(r#""/a""#, &["expected an argument, for example `path = \"/leader\"`"]);
    }
}

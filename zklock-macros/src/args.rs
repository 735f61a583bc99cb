//! Reads the arguments of `#[distributed_lock]`.
//!
//! Uses only `errors`, `mode`, `names`, `otherwise`, `path`, `reading`, `recipe`, `shared` and `wait`.

use proc_macro2::Span;
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::{Error, Ident, Result};

use crate::errors::Errors;
use crate::mode::Mode;
use crate::names::means;
use crate::otherwise::Otherwise;
use crate::path::Path;
use crate::reading::{each, ended, set_flag, set_once, set_once_at};
use crate::recipe::{Number, Recipe};
use crate::shared::{self, Shared, is_known, unknown};
use crate::wait::Wait;

/// The arguments of `#[distributed_lock]`.
pub(crate) struct LockArgs {
    pub(crate) path: Path,
    pub(crate) recipe: Recipe,
    pub(crate) wait: Option<Wait>,
    /// The result of a call that does not get a contended lock, or `None` for the error.
    pub(crate) otherwise: Option<Otherwise>,
    pub(crate) shared: Shared,
}

#[derive(Default)]
struct Draft {
    path: Option<Path>,
    mode: Option<Mode>,
    permits: Option<Number>,
    of: Option<Number>,
    wait: Option<(Span, Wait)>,
    no_wait: Option<Span>,
    skip: Option<Span>,
    otherwise: Option<Otherwise>,
    shared: shared::Draft,
    path_seen: bool,
}

impl Parse for LockArgs {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let mut draft = Draft::default();
        let mut errors = Errors::default();
        each(input, &mut errors, |input| draft.argument(input))?;
        let path = errors.keep(draft.take_path()).flatten();
        let permits = (draft.permits.take(), draft.of.take());
        let recipe = errors.keep(Recipe::new(draft.mode.take(), permits, path.as_ref()));
        let contended = errors.keep(draft.take_contended());
        let shared = errors.keep(draft.shared.finish()).unwrap_or_default();
        errors.finish()?;
        let (wait, otherwise) = contended.unwrap_or_default();
        let recipe = recipe.unwrap_or(Recipe::Mutex);
        // A path is present here: without one, `finish` has already returned an error.
        path.map(|path| Self { path, recipe, wait, otherwise, shared }).ok_or_else(missing_path)
    }
}

impl Draft {
    const NAMES: [&str; 8] = ["path", "mode", "permits", "of", "wait", "no_wait", "skip", "otherwise"];

    fn argument(&mut self, input: ParseStream<'_>) -> Result<()> {
        let name = input.call(Ident::parse_any).map_err(|error| {
            // This is most likely the path without its name, so it is not also reported as missing.
            self.path_seen = true;
            Error::new(error.span(), "expected an argument, for example `path = \"/orders/{order.id}\"`")
        })?;
        if !is_known(&name, &Self::NAMES) {
            // The path is then not also reported as missing.
            self.path_seen |= means(&name, "path");
            return Err(unknown(&name, &Self::NAMES));
        }
        match name.to_string().as_str() {
            "path" => {
                self.path_seen = true;
                set_once(&mut self.path, &name, input)
            }
            "mode" => set_once(&mut self.mode, &name, input),
            "permits" => set_once(&mut self.permits, &name, input),
            "of" => set_once(&mut self.of, &name, input),
            "wait" => set_once_at(&mut self.wait, &name, input),
            "no_wait" => set_flag(&mut self.no_wait, &name, input),
            "skip" => set_flag(&mut self.skip, &name, input),
            "otherwise" => set_once(&mut self.otherwise, &name, input),
            _ => self.shared.argument(&name, input),
        }?;
        ended(&name, input)
    }

    /// Takes the path; `None` if it was given but has already been reported as a mistake.
    fn take_path(&mut self) -> Result<Option<Path>> {
        match self.path.take() {
            None if !self.path_seen => Err(missing_path()),
            path => Ok(path),
        }
    }

    /// Takes the arguments for a contended lock: the wait for it, and the result of a call that does not get it.
    fn take_contended(&mut self) -> Result<(Option<Wait>, Option<Otherwise>)> {
        let otherwise = match (self.skip, self.otherwise.take()) {
            (Some(skip), Some(_)) => {
                return Err(Error::new(skip, "`skip` stands for `otherwise = skip`: give one of the two"));
            }
            (None, Some(Otherwise::Wait(value))) => return Err(Error::new(value, ALREADY_WAITS)),
            (Some(_), None) => Some(Otherwise::Skip),
            (None, otherwise) => otherwise,
        };
        let wait = match (self.wait.take(), self.no_wait) {
            (Some((wait, _)), Some(_)) => {
                return Err(Error::new(wait, "`wait` and `no_wait` exclude each other"));
            }
            (None, None) if otherwise.is_none() => None,
            (None, _) => Some(Wait::Never),
            (Some((_, wait)), None) => Some(wait),
        };
        Ok((wait, otherwise))
    }
}

const ALREADY_WAITS: &str = "a call waits for its lock unless told otherwise\n\
                             `wait = \"5s\"` bounds the wait, `wait = forever` removes the bound";

fn missing_path() -> Error {
    Error::new(Span::call_site(), "`path` is missing: `#[distributed_lock(path = \"/orders/{order.id}\")]`")
}

#[cfg(test)]
mod tests {
    use super::*;
    use quote::ToTokens;

    use crate::names::in_table;
    use crate::on_lost::OnLost;
    use crate::shared::Client;

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
            map_err = into, name = "n", crate = crate::zk, once_per = "1m", tick = "/t","#,
        );
        let args = args.unwrap();
        assert!(matches!(args.path, Path::Several(paths) if paths.len() == 2));
        assert!(matches!(args.recipe, Recipe::Side(Mode::Read)));
        assert!(matches!(args.wait, Some(Wait::For(_))));
        assert!(args.shared.once.is_some());
        assert!(matches!(args.shared.on_lost, Some(OnLost::Finish)));
        assert!(matches!(args.shared.client, Some(Client::Computed(_))));
        assert_eq!(args.shared.guard.unwrap().0, "held");
        assert!(args.shared.map_err.is_some() && args.shared.name.is_some());
        assert_eq!(args.shared.krate.unwrap().0.to_token_stream().to_string(), "crate :: zk");
    }

    #[test]
    fn the_path_is_required() {
        check("", &[MISSING]);
        check("wait = forever", &[MISSING]);
        check("path = \"\"", &["the path \"\" is empty: write for example \"/orders/{id}\""]);
    }

    #[test]
    fn unknown_and_repeated_arguments_are_refused() {
        let known = "the arguments are `path`, `mode`, `permits`, `of`, `wait`, `no_wait`, `skip`, `otherwise`, \
                     `once_per`, `tick`, `on_lost`, `client`, `guard`, `map_err`, `name`, `crate`";
        check(r#"pth = "/a""#, &[&format!("unknown argument `pth`, did you mean `path`?\n{known}")]);
        check(r#"path = "/a", path = "/b""#, &["`path` is given twice"]);
        check(
            r#"waits = "5s", path = "/a""#,
            &[&format!("unknown argument `waits`, did you mean `wait`?\n{known}")],
        );
        check(r#"path = "/a", mode = read, mode = write"#, &["`mode` is given twice"]);
        check(r#"path = "/a", fence = f::<a, b>(c)"#, &[&format!("unknown argument `fence`\n{known}")]);
    }

    fn contended(input: &str) -> (Option<Wait>, Option<Otherwise>) {
        let args = parse(&format!(r#"path = "/a", {input}"#)).unwrap();
        (args.wait, args.otherwise)
    }

    #[test]
    fn a_call_that_says_what_it_does_otherwise_waits_only_if_told() {
        assert!(matches!(contended(""), (None, None)));
        assert!(matches!(contended("no_wait"), (Some(Wait::Never), None)));
        assert!(matches!(contended("skip"), (Some(Wait::Never), Some(Otherwise::Skip))));
        assert!(matches!(contended("otherwise = 7"), (Some(Wait::Never), Some(Otherwise::Value(_)))));
        assert!(matches!(contended("skip, wait = forever"), (Some(Wait::Forever), Some(Otherwise::Skip))));
        assert!(matches!(
            contended("otherwise = error, no_wait"),
            (Some(Wait::Never), Some(Otherwise::Error))
        ));
    }

    #[test]
    fn arguments_that_contradict_each_other_are_refused() {
        let refused = |input: &str, expected: &str| check(&format!(r#"path = "/a", {input}"#), &[expected]);
        refused("no_wait, wait = forever", "`wait` and `no_wait` exclude each other");
        refused("skip, otherwise = skip", "`skip` stands for `otherwise = skip`: give one of the two");
        refused("otherwise = wait", ALREADY_WAITS);
        refused("skip = true", "`skip` takes no value");
        refused("no_wait, no_wait", "`no_wait` is given twice");
    }

    #[test]
    fn every_mistake_is_reported() {
        check(
            r#"wait = 5, guard = "held", "/a""#,
            &[
                "a wait needs a unit: `wait = \"5s\"`",
                "`guard` takes a name for the guard in the body: `guard = held`",
                "expected an argument, for example `path = \"/orders/{order.id}\"`",
            ],
        );
    }

    #[test]
    fn the_documented_arguments_are_those_that_are_read() {
        let known = shared::names(&Draft::NAMES);
        assert_eq!(in_table(include_str!("../doc/distributed_lock.md")), known.iter().copied().collect());
        for name in known {
            let refused = parse(name).err().unwrap_or_default();
            assert!(!refused.iter().any(|error| error.contains("unknown argument")), "{refused:?}");
        }
    }

    #[test]
    fn a_mistake_is_reported_once() {
        check(r#"path = "/a", once_per = 15, tick = "/t""#, &["a period needs a unit: `once_per = \"15s\"`"]);
        check(
            "path = /orders/{id}, wait = 0",
            &[
                "a path is a string: quote it, for example `path = \"/orders/{id}\"`",
                "a wait of zero can never acquire the lock\n\
             write `no_wait` for a call that returns at once where the lock is taken",
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
}

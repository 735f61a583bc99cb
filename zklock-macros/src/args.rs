//! Reads the arguments of `#[distributed_lock]` and `#[leader_only]`.
//!
//! Uses only `duration`, `names`, `once`, `path`, `recipe`, `syntax` and `target`.
//!
//! * `list`: the arguments, one after the other.
//! * `values`: the value of each.

mod list;
mod values;

use proc_macro2::Span;
use syn::parse::ParseStream;
use syn::spanned::Spanned;
use syn::{Error, Expr, Ident, LitStr, Result, parse_quote_spanned};

use crate::duration::Length;
use crate::names::Kind;
use crate::names::means;
use crate::once::{self, Once, Tick};
use crate::path::Path;
use crate::recipe::Recipe;
use crate::syntax::{Errors, mixed};

pub(crate) use list::{Given, List};
pub(crate) use values::{Client, OnLost, Otherwise, Wait, krate};

/// The arguments of an attribute.
#[derive(Default)]
pub(crate) struct Args {
    pub(crate) path: Path,
    pub(crate) recipe: Recipe,
    pub(crate) wait: Option<Wait>,
    /// The result of a call that does not run the body, or `None` for the error.
    pub(crate) otherwise: Option<Otherwise>,
    pub(crate) once: Option<Once>,
    /// The span is that of the value.
    pub(crate) on_lost: Option<(OnLost, Span)>,
    pub(crate) client: Option<Client>,
    pub(crate) guard: Option<Ident>,
    pub(crate) map_err: Option<Expr>,
    pub(crate) name: Option<LitStr>,
    pub(crate) krate: Option<syn::Path>,
}

/// The arguments that are read together with others.
#[derive(Default)]
struct Draft {
    args: Args,
    path: Option<Path>,
    mode: Option<Recipe>,
    permits: Option<Expr>,
    of: Option<Expr>,
    /// The places of these names.
    wait: Option<Span>,
    no_wait: Option<Span>,
    skip: Option<Span>,
    period: Option<Length>,
    tick: Option<Tick>,
}

const NAMES: &str =
    "path mode permits of wait no_wait skip otherwise once_per tick on_lost client guard map_err name crate";

/// Returns the names of the arguments of an attribute.
fn names(kind: Kind) -> Vec<&'static str> {
    let is_known = |name: &&str| match *name {
        "mode" | "permits" | "of" | "no_wait" | "skip" => kind == Kind::DistributedLock,
        _ => true,
    };
    NAMES.split(' ').filter(is_known).collect()
}

impl Args {
    pub(crate) fn read(kind: Kind, input: ParseStream<'_>) -> Result<Self> {
        let (mut draft, mut errors) = (Draft::default(), Errors::default());
        let example = match kind {
            Kind::DistributedLock => "path = \"/orders/{order.id}\"",
            Kind::LeaderOnly => "path = \"/leader\"",
        };
        let list = List { known: &names(kind), example };
        let names = list.read(input, &mut errors, |given| draft.set(kind, given))?;
        let args = match kind {
            Kind::DistributedLock => draft.lock(&names, &mut errors),
            Kind::LeaderOnly => draft.leader(&names, &mut errors),
        };
        errors.finish().map(|()| args)
    }
}

impl Draft {
    fn set(&mut self, kind: Kind, Given { name, value }: &Given) -> Result<()> {
        let Some(value) = value else {
            let flag = if name == "skip" { &mut self.skip } else { &mut self.no_wait };
            *flag = Some(name.span());
            return Ok(());
        };
        let args = &mut self.args;
        match name.to_string().as_str() {
            "path" => {
                self.path = Some(match kind {
                    Kind::DistributedLock => Path::read(value)?,
                    Kind::LeaderOnly => {
                        Path::read_one(value, "an election has one path: `path = \"/leader\"`")?
                    }
                });
            }
            "mode" => self.mode = Some(values::mode(value)?),
            "permits" => self.permits = Some(values::permits(value)?),
            "of" => self.of = Some(values::permits(value)?),
            "wait" => {
                args.wait = Some(Wait::read(value)?);
                self.wait = Some(name.span());
            }
            "otherwise" => args.otherwise = Some(Otherwise::read(value)),
            "once_per" => self.period = Some(once::period(value)?),
            "tick" => self.tick = Some(once::tick(value)?),
            "on_lost" => args.on_lost = Some((OnLost::read(value)?, value.span())),
            "client" => args.client = Some(Client::read(value)?),
            "guard" => args.guard = Some(values::guard(value)?),
            "map_err" => args.map_err = Some(values::map_err(value)?),
            "name" => args.name = Some(values::name(value)?),
            _ => args.krate = Some(krate(value)?),
        }
        Ok(())
    }

    fn lock(mut self, names: &[String], errors: &mut Errors) -> Args {
        if !names.iter().any(|name| means(name, "path")) {
            let missing = "`path` is missing: `#[distributed_lock(path = \"/orders/{order.id}\")]`";
            errors.push(Error::new(Span::call_site(), missing));
        }
        errors.keep(self.combine_recipe());
        errors.keep(self.combine_contended());
        self.finish(names, errors)
    }

    fn leader(mut self, names: &[String], errors: &mut Errors) -> Args {
        self.args.recipe = Recipe::Term;
        let default = || Path::read(&parse_quote_spanned!(mixed()=> "/leader")).expect("it is a path");
        self.path.get_or_insert_with(default);
        let otherwise = self.args.otherwise.get_or_insert(Otherwise::Skip);
        match (&otherwise, self.wait) {
            (Otherwise::Wait(_), _) => self.args.wait.get_or_insert(Wait::Forever),
            (_, Some(wait)) => {
                errors.push(Error::new(wait, "`wait` bounds `otherwise = wait`, which is missing"));
                return self.args;
            }
            (_, None) => self.args.wait.insert(Wait::Never),
        };
        self.finish(names, errors)
    }

    fn finish(self, names: &[String], errors: &mut Errors) -> Args {
        // A period that could not be read has already been reported.
        let is_reported = self.period.is_none() && names.iter().any(|name| name == "once_per");
        let once = Once::new(self.period, self.tick.filter(|_| !is_reported));
        Args { path: self.path.unwrap_or_default(), once: errors.keep(once).flatten(), ..self.args }
    }

    /// Combines the arguments that select the kind of lock.
    fn combine_recipe(&mut self) -> Result<()> {
        let is_group = self.path.as_ref().is_some_and(Path::is_group);
        self.args.recipe = match (self.permits.take(), self.of.take(), self.mode.take()) {
            (Some(wanted), None, _) => {
                let message = "`permits` needs the number that there are: `permits = 1, of = 5`";
                return Err(Error::new_spanned(wanted, message));
            }
            (_, Some(of), Some(_)) => {
                return Err(Error::new_spanned(of, "a semaphore has no mode: remove `mode`"));
            }
            (_, Some(of), None) if is_group => {
                return Err(Error::new_spanned(of, "permits are of one semaphore: give one path"));
            }
            (wanted, Some(of), None) => Recipe::permits(wanted, of)?,
            (None, None, mode) => mode.unwrap_or(Recipe::Mutex),
        };
        Ok(())
    }

    /// Combines the arguments for a contended lock: the wait for it, and the result of a call that does not get it.
    fn combine_contended(&mut self) -> Result<()> {
        match (self.skip, &self.args.otherwise) {
            (Some(skip), Some(_)) => {
                return Err(Error::new(skip, "`skip` stands for `otherwise = skip`: give one of the two"));
            }
            (Some(_), None) => self.args.otherwise = Some(Otherwise::Skip),
            (None, Some(Otherwise::Wait(value))) => return Err(Error::new(*value, ALREADY_WAITS)),
            (None, _) => {}
        }
        match (self.wait, self.no_wait, &self.args.otherwise) {
            (Some(wait), Some(_), _) => {
                return Err(Error::new(wait, "`wait` and `no_wait` exclude each other"));
            }
            (None, Some(_), _) | (None, None, Some(_)) => self.args.wait = Some(Wait::Never),
            (Some(_), None, _) | (None, None, None) => {}
        }
        Ok(())
    }
}

const ALREADY_WAITS: &str = "a call waits for its lock unless told otherwise\n\
                             `wait = \"5s\"` bounds the wait, `wait = forever` removes the bound";

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use quote::{ToTokens, quote};
    use syn::parse::Parser;

    use super::*;

    fn read(kind: Kind, input: &str) -> std::result::Result<Args, Vec<String>> {
        let read = |input: ParseStream<'_>| Args::read(kind, input);
        read.parse_str(input).map_err(|error| error.into_iter().map(|one| one.to_string()).collect())
    }

    fn parse(input: &str) -> std::result::Result<Args, Vec<String>> {
        read(Kind::DistributedLock, input)
    }

    fn lead(input: &str) -> std::result::Result<Args, Vec<String>> {
        read(Kind::LeaderOnly, input)
    }

    #[track_caller]
    fn check(input: &str, expected: &[&str]) {
        let errors = parse(input).err().unwrap_or_default();
        assert_eq!(errors, expected, "{input}");
    }

    #[track_caller]
    fn check_leader(input: &str, expected: &[&str]) {
        let errors = lead(input).err().unwrap_or_default();
        assert_eq!(errors, expected, "{input}");
    }

    /// Checks the only mistake in arguments beside a path.
    #[track_caller]
    fn refused(input: &str, expected: &str) {
        check(&format!(r#"path = "/a", {input}"#), &[expected]);
    }

    const MISSING: &str = "`path` is missing: `#[distributed_lock(path = \"/orders/{order.id}\")]`";

    #[test]
    fn every_argument_is_read() {
        let args = parse(
            r#"path = ["/a", b], mode = read, wait = "5s", on_lost = finish, client = pool.of(a, b), guard = held,
            map_err = into, name = "n", crate = crate::zk, once_per = "1m", tick = "/t","#,
        );
        let args = args.unwrap();
        assert!(args.path.is_group() && matches!(args.recipe, Recipe::Read));
        assert!(matches!(args.wait, Some(Wait::For(_))));
        assert!(args.once.is_some());
        assert!(matches!(args.on_lost, Some((OnLost::Finish, _))));
        assert!(matches!(args.client, Some(Client::Computed(_))));
        assert_eq!(args.guard.unwrap(), "held");
        assert!(args.map_err.is_some() && args.name.is_some());
        assert_eq!(args.krate.unwrap().to_token_stream().to_string(), "crate :: zk");
    }

    #[test]
    fn the_leaders_arguments_are_read() {
        let args = lead("").unwrap();
        assert!(matches!(
            (&args.recipe, args.wait, args.otherwise),
            (Recipe::Term, Some(Wait::Never), Some(Otherwise::Skip))
        ));
        let path = args.path.expand(&syn::parse_str("fn f()").unwrap(), &quote!(p)).unwrap().to_string();
        assert!(path.contains("template (\"/leader\")"), "{path}");
        let args =
            lead(r#"path = "/a", otherwise = wait, client = "b", once_per = "1m", tick = "/t""#).unwrap();
        assert!(args.once.is_some() && matches!(args.client, Some(Client::Named(_))));
        assert!(matches!((args.otherwise, args.wait), (Some(Otherwise::Wait(_)), Some(Wait::Forever))));
        check_leader(r#"path = ["/a", "/b"]"#, &["an election has one path: `path = \"/leader\"`"]);
        check_leader(r#"path = &["/a"]"#, &["an election has one path: `path = \"/leader\"`"]);
        check_leader("wait = forever", &["`wait` bounds `otherwise = wait`, which is missing"]);
        check_leader("otherwise = skip, otherwise = wait", &["`otherwise` is given twice"]);
        check_leader(r#""/a""#, &["expected an argument, for example `path = \"/leader\"`"]);
        let known = "the arguments are `path`, `wait`, `otherwise`, `once_per`, `tick`, `on_lost`, `client`, `guard`, \
                     `map_err`, `name`, `crate`";
        check_leader("mode = read", &[&format!("unknown argument `mode`\n{known}")]);
        check_leader("skip", &[&format!("unknown argument `skip`\n{known}")]);
        check_leader(
            "otherwize = skip",
            &[&format!("unknown argument `otherwize`, did you mean `otherwise`?\n{known}")],
        );
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

    /// Returns the names in the table of arguments of a document, to compare them with those that a parser knows.
    fn in_table(document: &str) -> BTreeSet<&str> {
        let rows = document.lines().skip_while(|line| !line.starts_with("| argument")).skip(2);
        let cells = rows.map_while(|row| row.strip_prefix('|')).filter_map(|row| row.split('|').next());
        let codes = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2));
        codes.filter_map(|code| code.split([' ', '=']).next()).collect()
    }

    #[test]
    fn the_documented_arguments_are_those_that_are_read() {
        for (kind, document) in [
            (Kind::DistributedLock, include_str!("../doc/distributed_lock.md")),
            (Kind::LeaderOnly, include_str!("../doc/leader_only.md")),
        ] {
            assert_eq!(in_table(document), names(kind).into_iter().collect());
            for name in names(kind) {
                let refused = read(kind, name).err().unwrap_or_default();
                assert!(!refused.iter().any(|error| error.contains("unknown argument")), "{refused:?}");
            }
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

    #[test]
    fn what_no_semaphore_can_give_is_refused() {
        refused("permits = 2", "`permits` needs the number that there are: `permits = 1, of = 5`");
        refused("permits = 6, of = 5", "6 permits of 5 can never be acquired");
        refused("mode = read, of = 5", "a semaphore has no mode: remove `mode`");
        check(r#"path = ["/a", "/b"], of = 5"#, &["permits are of one semaphore: give one path"]);
    }
}

//! Reads the arguments of `#[distributed_lock]` and `#[leader_only]`.

mod list;
mod values;

use proc_macro2::Span;
use syn::parse::ParseStream;
use syn::spanned::Spanned;
use syn::{Error, Expr, Ident, LitStr, Result, parse_quote_spanned};

use crate::names::Kind;
use crate::once::{self, Once};
use crate::path::Path;
use crate::recipe::Recipe;
use crate::syntax::mixed;

pub(crate) use list::List;
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
        let example = kind.choose("path = \"/orders/{order.id}\"", "path = \"/leader\"");
        let mut list = List::read(input, &names(kind), example)?;
        let mut args = Self {
            wait: list.value("wait", Wait::read),
            otherwise: list.value("otherwise", |value| Ok(Otherwise::read(value))),
            once: once(&mut list),
            on_lost: list.value("on_lost", |value| Ok((OnLost::read(value)?, value.span()))),
            client: list.value("client", Client::read),
            guard: list.value("guard", values::guard),
            map_err: list.value("map_err", values::map_err),
            name: list.value("name", values::name),
            krate: list.value("crate", krate),
            ..Self::default()
        };
        match kind {
            Kind::DistributedLock => args.complete_lock(&mut list),
            Kind::LeaderOnly => args.complete_term(&mut list),
        }
        list.errors.finish().map(|()| args)
    }

    /// Reads and completes the arguments of a lock, without the parts in which there is a mistake.
    fn complete_lock(&mut self, list: &mut List) {
        self.path = list.value("path", Path::read).unwrap_or_default();
        if !list.names("path") {
            let missing = "`path` is missing: `#[distributed_lock(path = \"/orders/{order.id}\")]`";
            list.errors.push(Error::new(Span::call_site(), missing));
        }
        let recipe = recipe(list, self.path.is_group);
        self.recipe = list.errors.keep(recipe).unwrap_or_default();
        let contended = self.complete_contended(list);
        list.errors.keep(contended);
    }

    fn complete_term(&mut self, list: &mut List) {
        self.recipe = Recipe::Term;
        let one = |value: &Expr| Path::read_one(value, "an election has one path: `path = \"/leader\"`");
        let default = || Path::read(&parse_quote_spanned!(mixed()=> "/leader")).expect("it is a path");
        self.path = list.value("path", one).unwrap_or_else(default);
        let wait = self.wait.as_ref().and_then(|_| list.place("wait"));
        match (self.otherwise.get_or_insert(Otherwise::Skip), wait) {
            (Otherwise::Wait(_), Some(_)) => {}
            (Otherwise::Wait(_), None) => self.wait = Some(Wait::Forever),
            (_, None) => self.wait = Some(Wait::Never),
            (_, Some(wait)) => {
                let message = "`wait` bounds `otherwise = wait`, which is missing";
                list.errors.push(Error::new(wait, message));
            }
        }
    }

    /// Completes what a call does that finds the lock taken.
    fn complete_contended(&mut self, list: &List) -> Result<()> {
        match (list.place("skip"), &self.otherwise) {
            (Some(skip), Some(_)) => {
                return Err(Error::new(skip, "`skip` stands for `otherwise = skip`: give one of the two"));
            }
            (Some(_), None) => self.otherwise = Some(Otherwise::Skip),
            (None, Some(Otherwise::Wait(value))) => return Err(Error::new(*value, ALREADY_WAITS)),
            (None, _) => {}
        }
        let wait = self.wait.as_ref().and_then(|_| list.place("wait"));
        match (wait, list.place("no_wait"), &self.otherwise) {
            (Some(wait), Some(_), _) => {
                return Err(Error::new(wait, "`wait` and `no_wait` exclude each other"));
            }
            (None, Some(_), _) | (None, None, Some(_)) => self.wait = Some(Wait::Never),
            (Some(_), None, _) | (None, None, None) => {}
        }
        Ok(())
    }
}

/// Reads `once_per` and `tick`.
fn once(list: &mut List) -> Option<Once> {
    let (period, tick) = (list.value("once_per", once::period), list.value("tick", once::tick));
    // A period that could not be read has already been reported.
    let is_reported = period.is_none() && list.names("once_per");
    let once = Once::new(period, tick.filter(|_| !is_reported));
    list.errors.keep(once).flatten()
}

/// Reads `mode`, `permits` and `of`.
fn recipe(list: &mut List, is_group: bool) -> Result<Recipe> {
    let (wanted, of) = (list.value("permits", values::permits), list.value("of", values::permits));
    match (wanted, of, list.value("mode", values::mode)) {
        (Some(wanted), None, _) => Err(Error::new_spanned(
            wanted,
            "`permits` needs the number that there are: `permits = 1, of = 5`",
        )),
        (_, Some(of), Some(_)) => Err(Error::new_spanned(of, "a semaphore has no mode: remove `mode`")),
        (_, Some(of), None) if is_group => {
            Err(Error::new_spanned(of, "permits are of one semaphore: give one path"))
        }
        (wanted, Some(of), None) => Recipe::permits(wanted, of),
        (None, None, mode) => Ok(mode.unwrap_or(Recipe::Mutex)),
    }
}

const ALREADY_WAITS: &str = "a call waits for its lock unless told otherwise\n\
                             `wait = \"5s\"` bounds the wait, `wait = forever` removes the bound";

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use quote::quote;
    use syn::parse::Parser;

    use super::*;

    fn read(kind: Kind, input: &str) -> std::result::Result<Args, Vec<String>> {
        let read = |input: ParseStream<'_>| Args::read(kind, input);
        read.parse_str(input).map_err(|error| error.into_iter().map(|one| one.to_string()).collect())
    }

    #[track_caller]
    fn check(kind: Kind, input: &str, expected: &[&str]) {
        let errors = read(kind, input).err().unwrap_or_default();
        assert_eq!(errors, expected, "{input}");
    }

    /// Checks the only mistake in arguments beside a path.
    #[track_caller]
    fn refused(input: &str, expected: &str) {
        check(Kind::DistributedLock, &format!(r#"path = "/a", {input}"#), &[expected]);
    }

    #[test]
    fn a_leader_has_one_path_and_waits_only_if_told() {
        let lead = |input: &str| read(Kind::LeaderOnly, input).unwrap();
        let args = lead("");
        assert!(matches!(
            (&args.recipe, args.wait, args.otherwise),
            (Recipe::Term, Some(Wait::Never), Some(Otherwise::Skip))
        ));
        let path = args.path.expand(&syn::parse_str("fn f()").unwrap(), &quote!(p)).unwrap().to_string();
        assert!(path.contains("template (\"/leader\")"), "{path}");
        let waits = lead("otherwise = wait");
        assert!(matches!((waits.otherwise, waits.wait), (Some(Otherwise::Wait(_)), Some(Wait::Forever))));
        let known = "the arguments are `path`, `wait`, `otherwise`, `once_per`, `tick`, `on_lost`, `client`, `guard`, \
                     `map_err`, `name`, `crate`";
        for (input, expected) in [
            (r#"path = &["/a"]"#, "an election has one path: `path = \"/leader\"`"),
            ("wait = forever", "`wait` bounds `otherwise = wait`, which is missing"),
            ("otherwise = skip, otherwise = wait", "`otherwise` is given twice"),
            (r#""/a""#, "expected an argument, for example `path = \"/leader\"`"),
            ("mode = read", &*format!("unknown argument `mode`\n{known}")),
            (
                "skip",
                "there is no argument `skip`\n\
                 a call of a replica that does not lead returns at once, without the body\n\
                 `otherwise` gives its result, and `otherwise = wait` waits for the term",
            ),
        ] {
            check(Kind::LeaderOnly, input, &[expected]);
        }
    }

    fn contended(input: &str) -> (Option<Wait>, Option<Otherwise>) {
        let args = read(Kind::DistributedLock, &format!(r#"path = "/a", {input}"#)).unwrap();
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
    fn each_mistake_beside_a_path_is_named() {
        let known = "the arguments are `path`, `mode`, `permits`, `of`, `wait`, `no_wait`, `skip`, `otherwise`, \
                     `once_per`, `tick`, `on_lost`, `client`, `guard`, `map_err`, `name`, `crate`";
        for (input, expected) in [
            (r#"waits = "5s""#, &*format!("unknown argument `waits`, did you mean `wait`?\n{known}")),
            ("fence = f::<a, b>(c)", &*format!("unknown argument `fence`\n{known}")),
            (r#"path = "/b""#, "`path` is given twice"),
            ("no_wait, no_wait", "`no_wait` is given twice"),
            ("no_wait, wait = forever", "`wait` and `no_wait` exclude each other"),
            ("skip, otherwise = skip", "`skip` stands for `otherwise = skip`: give one of the two"),
            ("otherwise = wait", ALREADY_WAITS),
            ("skip = true", "`skip` takes no value"),
            ("wait", "`wait` needs a value: `wait = …`"),
            ("wait = ", "`wait` needs a value after the `=`"),
            (r#"wait("5s")"#, "`wait` needs a value: `wait = …`"),
            (r#"wait = "5s" skip"#, "expected `,` after the value of `wait`"),
            ("permits = 2", "`permits` needs the number that there are: `permits = 1, of = 5`"),
            ("permits = 6, of = 5", "6 permits of 5 can never be acquired"),
            ("mode = read, of = 5", "a semaphore has no mode: remove `mode`"),
            (r#"once_per = 15, tick = "/t""#, "a period needs a unit: `once_per = \"15s\"`"),
        ] {
            refused(input, expected);
        }
    }

    #[test]
    fn every_mistake_is_reported_once() {
        let example = "expected an argument, for example `path = \"/orders/{order.id}\"`";
        for (input, expected) in [
            ("", &["`path` is missing: `#[distributed_lock(path = \"/orders/{order.id}\")]`"][..]),
            (r#"path = """#, &["the path \"\" is empty: write for example \"/orders/{id}\""]),
            (r#"path = ["/a", "/b"], of = 5"#, &["permits are of one semaphore: give one path"]),
            (
                r#""/a", guard = 7"#,
                &[example, "`guard` takes a name for the guard in the body: `guard = held`"],
            ),
            (
                "path = /orders/{id}, wait = 0",
                &[
                    "a path is a string: quote it, for example `path = \"/orders/{id}\"`",
                    "a wait of zero can never acquire the lock\n\
                     write `no_wait` for a call that returns at once where the lock is taken",
                ],
            ),
        ] {
            check(Kind::DistributedLock, input, expected);
        }
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
        }
    }
}

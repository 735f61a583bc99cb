//! Reads the arguments of `#[distributed_lock]`.
//!
//! Uses only `errors`, `mode`, `path`, `reading`, `shared` and `wait`.

use proc_macro2::Span;
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::{Error, Ident, Result};

use crate::errors::Errors;
use crate::mode::Mode;
use crate::path::Path;
use crate::reading::{each, ended, set_once};
use crate::shared::{self, Shared, unknown};
use crate::wait::Wait;

/// The arguments of `#[distributed_lock]`.
pub(crate) struct LockArgs {
    pub(crate) path: Path,
    pub(crate) mode: Option<Mode>,
    pub(crate) wait: Option<Wait>,
    pub(crate) shared: Shared,
}

#[derive(Default)]
struct Draft {
    path: Option<Path>,
    mode: Option<Mode>,
    wait: Option<Wait>,
    shared: shared::Draft,
    path_seen: bool,
}

impl Parse for LockArgs {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let mut draft = Draft::default();
        let mut errors = Errors::default();
        each(input, &mut errors, |input| draft.argument(input))?;
        let path = errors.keep(draft.take_path()).flatten();
        let shared = errors.keep(std::mem::take(&mut draft.shared).finish()).unwrap_or_default();
        errors.finish()?;
        let Draft { mode, wait, .. } = draft;
        // A path is present here: without one, `finish` has already returned an error.
        path.map(|path| Self { path, mode, wait, shared }).ok_or_else(missing_path)
    }
}

impl Draft {
    const NAMES: [&str; 3] = ["path", "mode", "wait"];

    fn argument(&mut self, input: ParseStream<'_>) -> Result<()> {
        let name = input.call(Ident::parse_any).map_err(|error| {
            // This is most likely the path without its name, so it is not also reported as missing.
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
            _ => self.shared.argument(&name, input).unwrap_or_else(|| Err(unknown(&name, &Self::NAMES))),
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
}

fn missing_path() -> Error {
    Error::new(Span::call_site(), "`path` is missing: `#[distributed_lock(path = \"/orders/{order.id}\")]`")
}

#[cfg(test)]
mod tests {
    use super::*;
    use quote::ToTokens;

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
            crate = crate::zk, once_per = "1m", tick = "/t","#,
        );
        let args = args.unwrap();
        assert!(matches!(args.path, Path::Several(paths) if paths.len() == 2));
        assert!(matches!(args.mode, Some(Mode::Read)));
        assert!(matches!(args.wait, Some(Wait::For(_))));
        assert!(args.shared.once.is_some());
        assert!(matches!(args.shared.on_lost, Some(OnLost::Finish)));
        assert!(matches!(args.shared.client, Some(Client::Computed(_))));
        assert_eq!(args.shared.guard.unwrap().0, "held");
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
                "`guard` takes a name for the guard in the body: `guard = held`",
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
}

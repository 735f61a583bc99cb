//! Reads the arguments of `#[zklock::test]`.

use std::time::Duration;

use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::{Error, Expr, ExprLit, Ident, Lit, LitStr, Result};

use crate::duration;
use crate::errors::Errors;
use crate::grouped::{string, ungroup};
use crate::names;
use crate::reading::{each, ended, set_once};
use crate::shared::Krate;

/// The arguments of `#[zklock::test]`.
pub(crate) struct TestArgs {
    pub(crate) flavor: Flavor,
    pub(crate) session_timeout: Option<Duration>,
    pub(crate) krate: Option<Krate>,
}

/// The flavor of the test's runtime.
pub(crate) enum Flavor {
    CurrentThread,
    MultiThread(Option<usize>),
}

/// The value of `flavor`.
enum FlavorName {
    CurrentThread,
    MultiThread,
}

/// The value of `worker_threads`, and its expression for error messages.
struct WorkerThreads(usize, Expr);

/// The value of `session_timeout`.
struct SessionTimeout(Duration);

#[derive(Default)]
struct Draft {
    flavor: Option<FlavorName>,
    worker_threads: Option<WorkerThreads>,
    session_timeout: Option<SessionTimeout>,
    krate: Option<Krate>,
}

impl Parse for TestArgs {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let mut draft = Draft::default();
        let mut errors = Errors::default();
        each(input, &mut errors, |input| draft.argument(input))?;
        let flavor = errors.keep(Flavor::new(draft.flavor, draft.worker_threads));
        errors.finish()?;
        let session_timeout = draft.session_timeout.map(|SessionTimeout(timeout)| timeout);
        let flavor = flavor.unwrap_or(Flavor::CurrentThread);
        Ok(Self { flavor, session_timeout, krate: draft.krate })
    }
}

impl Draft {
    const NAMES: [&str; 4] = ["flavor", "worker_threads", "session_timeout", "crate"];

    fn argument(&mut self, input: ParseStream<'_>) -> Result<()> {
        let name = input.call(Ident::parse_any).map_err(|error| {
            Error::new(error.span(), "expected an argument, for example `session_timeout = \"3s\"`")
        })?;
        if !Self::NAMES.iter().any(|known| name == known) {
            return Err(names::unknown(&name, &Self::NAMES));
        }
        match name.to_string().as_str() {
            "flavor" => set_once(&mut self.flavor, &name, input),
            "worker_threads" => set_once(&mut self.worker_threads, &name, input),
            "session_timeout" => set_once(&mut self.session_timeout, &name, input),
            "crate" => set_once(&mut self.krate, &name, input),
            _ => Err(names::unknown(&name, &Self::NAMES)),
        }?;
        ended(&name, input)
    }
}

impl Flavor {
    fn new(name: Option<FlavorName>, threads: Option<WorkerThreads>) -> Result<Self> {
        match (name, threads) {
            (Some(FlavorName::MultiThread), threads) => {
                Ok(Self::MultiThread(threads.map(|WorkerThreads(count, _)| count)))
            }
            (_, None) => Ok(Self::CurrentThread),
            (_, Some(WorkerThreads(_, at))) => {
                Err(Error::new_spanned(at, "`worker_threads` needs `flavor = \"multi_thread\"`"))
            }
        }
    }
}

impl Parse for FlavorName {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let value: Expr = input.parse()?;
        match string(&value).map(LitStr::value).as_deref() {
            Some("current_thread") => Ok(Self::CurrentThread),
            Some("multi_thread") => Ok(Self::MultiThread),
            _ => {
                let message = "`flavor` is \"current_thread\", the default, or \"multi_thread\"";
                Err(Error::new_spanned(value, message))
            }
        }
    }
}

impl Parse for WorkerThreads {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let value: Expr = input.parse()?;
        let number = match ungroup(&value) {
            Expr::Lit(ExprLit { lit: Lit::Int(number), .. }) => number.base10_parse().ok(),
            _ => None,
        };
        match number {
            Some(count) if count > 0 => Ok(Self(count, value)),
            _ => Err(Error::new_spanned(value, "`worker_threads` takes a number of at least 1")),
        }
    }
}

impl Parse for SessionTimeout {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let value: Expr = input.parse()?;
        let text = string(&value).ok_or_else(|| {
            Error::new_spanned(&value, "`session_timeout` takes a string: `session_timeout = \"3s\"`")
        })?;
        match duration::parse(text)? {
            timeout if timeout < SHORTEST_SESSION => {
                let message = format!("the session timeout of a test is at least {SHORTEST_SESSION:?}");
                Err(Error::new(text.span(), message))
            }
            timeout => Ok(Self(timeout)),
        }
    }
}

/// The shortest session timeout, two ticks of the test's server.
const SHORTEST_SESSION: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(input: &str, expected: &[&str]) {
        let errors: Vec<_> = match syn::parse_str::<TestArgs>(input) {
            Ok(_) => Vec::new(),
            Err(error) => error.into_iter().map(|one| one.to_string()).collect(),
        };
        assert_eq!(errors, expected, "{input}");
    }

    #[test]
    fn every_argument_is_read() {
        check("", &[]);
        check(r#"flavor = "current_thread""#, &[]);
        check(r#"flavor = "multi_thread", worker_threads = 2, session_timeout = "3s", crate = "zk","#, &[]);
    }

    #[test]
    fn flavors_are_those_of_tokio() {
        let refused = "`flavor` is \"current_thread\", the default, or \"multi_thread\"";
        check(r#"flavor = "multi""#, &[refused]);
        check("flavor = multi_thread", &[refused]);
    }

    #[test]
    fn threads_need_a_runtime_that_has_them() {
        check("worker_threads = 2", &["`worker_threads` needs `flavor = \"multi_thread\"`"]);
        for threads in ["0", "-1", "\"2\"", "N"] {
            let input = format!("flavor = \"multi_thread\", worker_threads = {threads}");
            check(&input, &["`worker_threads` takes a number of at least 1"]);
        }
    }

    #[test]
    fn session_timeouts_are_durations() {
        check("session_timeout = 3", &["`session_timeout` takes a string: `session_timeout = \"3s\"`"]);
        check(r#"session_timeout = "99ms""#, &["the session timeout of a test is at least 100ms"]);
    }

    #[test]
    fn the_documented_arguments_are_those_that_are_read() {
        let document = include_str!("../../doc/test.md");
        assert_eq!(names::in_table(document), Draft::NAMES.into_iter().collect());
        for name in Draft::NAMES {
            check(name, &[&format!("`{name}` needs a value: `{name} = …`")]);
        }
    }

    #[test]
    fn unknown_and_repeated_arguments_are_refused() {
        let known = "the arguments are `flavor`, `worker_threads`, `session_timeout`, `crate`";
        check(r#"flavour = "x""#, &[&format!("unknown argument `flavour`, did you mean `flavor`?\n{known}")]);
        check("start_paused = true", &[&format!("unknown argument `start_paused`\n{known}")]);
        check(r#"session_timeout = "3s", session_timeout = "3s""#, &["`session_timeout` is given twice"]);
        check(r#""3s""#, &["expected an argument, for example `session_timeout = \"3s\"`"]);
        check("flavor", &["`flavor` needs a value: `flavor = …`"]);
    }
}

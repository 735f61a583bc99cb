//! The functions and types that the code generated for `once_per` uses.

use std::any::type_name;
use std::collections::HashMap;
use std::ptr;
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::Duration;

use percent_encoding::utf8_percent_encode;
use zklock_core::{Client, Guard, LockError};

use super::paths::{ESCAPED, Paths};
use super::take::{Taking, Term};

/// An annotated function, after which its default tick is named.
#[derive(Debug)]
pub struct Function {
    module: &'static str,
    name: &'static str,
    /// The place of the function in the source: file, line and column.
    place: &'static str,
}

/// The functions that have run, by module, short name of the type and name.
static FUNCTIONS: LazyLock<Mutex<HashMap<[&'static str; 3], Owned>>> = LazyLock::new(Mutex::default);

/// A function, and the full name of its type without parameters; empty outside of a type.
#[derive(Clone, Copy)]
struct Owned {
    function: &'static Function,
    of: &'static str,
}

impl Function {
    /// Describes a function by its module, its name and its place.
    pub const fn new([module, name, place]: [&'static str; 3]) -> Self {
        Self { module, name, place }
    }

    /// Fails if another function would share the tick, because only one of them would then start in a period.
    ///
    /// The place does not identify the function, because a macro gives one place to several. Each function has a
    /// `static` of its own, which the instances of a generic function share.
    fn check(&'static self, of: &'static str) -> Result<(), LockError> {
        let this = Owned { function: self, of: without_parameters(of) };
        let mut functions = FUNCTIONS.lock().unwrap_or_else(PoisonError::into_inner);
        let other = *functions.entry([self.module, short(of), self.name]).or_insert(this);
        let name = || self.qualified(short(of));
        let reason = if !ptr::eq(other.function, self) {
            let (name, here, there) = (name(), self.place, other.function.place);
            format!(
                "two functions in one module have the name `{name}`, at {here} and at {there}: \
                 give one of them a `tick`"
            )
        } else if other.of != this.of {
            let (name, this, other) = (name(), this.of, other.of);
            format!(
                "`{name}` is a method of `{this}` and of `{other}`: give it a `tick` that tells them apart"
            )
        } else {
            return Ok(());
        };
        Err(LockError::InvalidConfig { setting: "once_per", reason })
    }

    /// Returns the name of the function behind `of`, the short name of its type.
    fn qualified(&self, of: &str) -> String {
        let separator = if of.is_empty() { "" } else { "::" };
        format!("{of}{separator}{}", self.name)
    }

    /// Returns the path of the default tick for these locks. `of` is the full name of the method's type, or
    /// empty.
    fn tick(&'static self, of: &'static str, paths: &Paths) -> Result<String, LockError> {
        self.check(of)?;
        let mut tick = format!("{TICKS}/{}::{}", self.module, self.qualified(short(of)));
        for (nth, path) in paths.iter().enumerate() {
            tick.push_str(if nth == 0 { "/" } else { "," });
            tick.extend(utf8_percent_encode(path.trim_start_matches('/'), ESCAPED));
        }
        Ok(tick)
    }
}

/// Returns the name of a type without its module and parameters.
///
/// The standard library does not promise the form of `full`, which `core::any::type_name` returns. The name that the
/// type's author wrote is the part that compilers do not change, so replicas from several compilers share a tick.
fn short(full: &str) -> &str {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let named = without_parameters(full).trim_end_matches(|c| !is_name(c));
    named.rsplit(|c| !is_name(c)).next().unwrap_or_default()
}

/// Removes the `<…>` at the end.
fn without_parameters(full: &str) -> &str {
    let mut depth = 0;
    for (at, char) in full.char_indices().rev() {
        match char {
            // The arrow of a function's type is not a bracket.
            '>' if !full[..at].ends_with('-') => depth += 1,
            '<' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return if char == '<' { &full[..at] } else { full };
        }
    }
    full
}

/// The parent of the default ticks. Several paths are joined by `,`, which is encoded inside of a path, so
/// different paths have different ticks.
const TICKS: &str = "/zklock-ticks";

/// The limit on the starts of a function, and the node that remembers the last start.
#[derive(Debug)]
pub struct Once {
    tick: Result<String, LockError>,
    period: Duration,
}

impl Once {
    /// Creates a limit with the tick that the attribute names.
    pub fn at(tick: Paths, period: Duration) -> Self {
        Self { tick: tick.finish().map(|mut tick| tick.swap_remove(0).path), period }
    }

    /// Creates a limit with the default tick of a function under these locks.
    pub fn of(function: &'static Function, paths: &Paths, period: Duration) -> Self {
        Self { tick: function.tick("", paths), period }
    }

    /// Creates a limit with the default tick of a method of `Of` under these locks.
    pub fn of_method<Of: ?Sized>(function: &'static Function, paths: &Paths, period: Duration) -> Self {
        Self { tick: function.tick(type_name::<Of>(), paths), period }
    }
}

/// Takes the lock of a function unless its period is known to have begun, and begins the period. The result is `None` if
/// another call has begun it.
pub fn begin<K: 'static>(Once { tick, period }: Once, taking: Taking<Guard<K>>) -> Taking<Option<Guard<K>>>
where
    Guard<K>: Send + Sync,
{
    taking.then(tick, async move |tick: String, client: Client, taking| {
        let taken: Option<Guard<K>> = client.unless_begun((&tick, period), taking).await?;
        let Some(held) = taken else { return Ok(None) };
        match held.once_per(&tick, period).await {
            Ok(true) => Ok(Some(held)),
            outcome => {
                held.finish().await;
                outcome.map(|_| None)
            }
        }
    })
}

/// Takes the term of a function that the leader runs, and begins the period. The result is `None` if it has begun already.
pub fn begin_term(Once { tick, period }: Once, taking: Taking<Term>) -> Taking<Option<Term>> {
    taking.then(tick, async move |tick: String, _, taking| {
        let term: Term = taking.await?;
        let may_start = term.leadership().once_per(&tick, period).await?;
        Ok(may_start.then_some(term))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::__private::{Wait, mutex};

    static SWEEP: Function = Function::new(["billing::jobs", "sweep", "jobs.rs:1"]);

    fn function(name: &'static str, place: &'static str) -> &'static Function {
        Box::leak(Box::new(Function::new(["billing::jobs", name, place])))
    }

    #[track_caller]
    fn check(paths: &[&str], tick: &str) {
        assert_eq!(SWEEP.tick("", &Paths::new().each(paths)).unwrap(), tick);
    }

    #[test]
    fn the_tick_of_a_method_names_its_type() {
        let tick = SWEEP.tick("billing::Ledger<'_>", &Paths::new().text("/a"));
        assert_eq!(tick.unwrap(), "/zklock-ticks/billing::jobs::Ledger::sweep/a");
    }

    #[test]
    fn a_type_is_known_by_its_own_name() {
        struct Inner<'a, T: ?Sized>(&'a T);
        fn check<T: ?Sized>(expected: &str) {
            assert_eq!(short(type_name::<T>()), expected, "{}", type_name::<T>());
        }
        check::<u8>("u8");
        check::<Duration>("Duration");
        check::<Option<Vec<u8>>>("Option");
        check::<Inner<'_, dyn Fn(u8) -> Option<u8>>>("Inner");
        check::<dyn std::fmt::Debug + Send>("Send");
        check::<&'static [String]>("String");
        check::<()>("");
        assert_eq!(short("<shop::Ledger<T> as shop::Job>::run::Inner<u8>"), "Inner");
        assert_eq!(short("shop::Kassen\u{fc}bersicht<'_>"), "Kassen\u{fc}bersicht");
    }

    #[test]
    fn a_tick_is_named_after_the_function_and_the_locks() {
        check(&["/leader"], "/zklock-ticks/billing::jobs::sweep/leader");
        check(&["/jobs/7"], "/zklock-ticks/billing::jobs::sweep/jobs%2F7");
        check(&["/a,b@c", "/%2F"], "/zklock-ticks/billing::jobs::sweep/a%2Cb%40c,%252F");
    }

    #[tokio::test]
    async fn an_invalid_path_is_reported_before_a_missing_client() {
        let mistake = async |paths: Paths| {
            let once = Once::at(Paths::new().text("/t"), Duration::from_secs(1));
            let none = Err(LockError::NotInstalled { name: None, path: None });
            begin(once, mutex(none, paths, Wait::Default)).await.unwrap_err()
        };
        let missing = mistake(Paths::new().text("/jobs")).await;
        assert!(
            matches!(&missing, LockError::NotInstalled { path: Some(path), .. } if path == "/jobs"),
            "{missing:?}"
        );
        let invalid = mistake(Paths::new().text("/b").template("/a/{id}").literal("/a/").segment("")).await;
        assert!(matches!(&invalid, LockError::InvalidPath { path, .. } if path == "/a/{id}"), "{invalid:?}");
    }

    #[test]
    fn functions_that_would_share_a_tick_are_told_apart() {
        let (first, other) = (function("run", "jobs.rs:3:5"), function("run", "jobs.rs:9:5"));
        assert!(first.check("").is_ok() && first.check("").is_ok());
        assert_eq!(
            other.check("").unwrap_err().to_string(),
            "invalid setting `once_per`: two functions in one module have the name `run`, at jobs.rs:9:5 and \
             at jobs.rs:3:5: give one of them a `tick`"
        );
        assert!(first.check("").is_ok() && other.check("Ledger").is_ok());
        let message = first.check("Ledger").unwrap_err().to_string();
        assert!(message.contains("have the name `Ledger::run`, at jobs.rs:3:5"), "{message}");
    }

    #[test]
    fn functions_from_one_line_of_a_macro_are_told_apart() {
        let (first, other) = (function("made", "jobs.rs:3:5"), function("made", "jobs.rs:3:5"));
        assert!(first.check("").is_ok());
        let message = other.check("").unwrap_err().to_string();
        assert!(message.contains("have the name `made`, at jobs.rs:3:5 and at jobs.rs:3:5"), "{message}");
    }

    #[test]
    fn types_of_one_name_are_told_apart() {
        let provided = function("provided", "jobs.rs:3:5");
        assert!(provided.check("eu::Shop<u8>").is_ok() && provided.check("eu::Shop<u16>").is_ok());
        assert_eq!(
            provided.check("us::Shop<u8>").unwrap_err().to_string(),
            "invalid setting `once_per`: `Shop::provided` is a method of `us::Shop` and of `eu::Shop`: give it a \
             `tick` that tells them apart"
        );
    }
}

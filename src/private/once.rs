//! The functions and types that the code generated for `once_per` uses.

use std::any::type_name;
use std::borrow::Cow;
use std::collections::HashMap;
use std::future::Future;
use std::ptr;
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::Duration;

use futures_lite::future::or;
use percent_encoding::utf8_percent_encode;
use zklock_core::{Guard, LockError};

use crate::global::about;

use super::named::LockPath;
use super::paths::ESCAPED;
use super::source::Source;
use super::{Path, Term};

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
    fn tick(&'static self, of: &'static str, paths: &[Path]) -> Path {
        self.check(of)?;
        let mut tick = format!("{TICKS}/{}::{}", self.module, self.qualified(short(of)));
        for (nth, path) in paths.iter().enumerate() {
            tick.push_str(if nth == 0 { "/" } else { "," });
            let path = path.as_ref().map_err(LockError::clone)?;
            tick.extend(utf8_percent_encode(path.trim_start_matches('/'), ESCAPED));
        }
        Ok(tick.into())
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
    /// The path of the lock, or of the first of several locks.
    path: Result<Cow<'static, str>, LockError>,
    tick: Path,
    period: Duration,
}

impl Once {
    /// Creates a limit with the tick that the attribute names.
    pub fn at(tick: Path, paths: &[Path], period: Duration) -> Self {
        Self { path: first(paths), tick, period }
    }

    /// Creates a limit with the default tick of a function under these locks.
    pub fn of(function: &'static Function, paths: &[Path], period: Duration) -> Self {
        Self { path: first(paths), tick: function.tick("", paths), period }
    }

    /// Creates a limit with the default tick of a method of `Of` under these locks.
    pub fn of_method<Of: ?Sized>(function: &'static Function, paths: &[Path], period: Duration) -> Self {
        Self { path: first(paths), tick: function.tick(type_name::<Of>(), paths), period }
    }

    pub(super) fn path(&self) -> Result<&str, LockError> {
        self.path.as_deref().map_err(LockError::clone)
    }

    fn tick(&self) -> Result<&str, LockError> {
        self.tick.as_deref().map_err(LockError::clone)
    }
}

/// Returns the first path, which is empty if there is none, or the error of an invalid one.
fn first(paths: &[Path]) -> Result<Cow<'static, str>, LockError> {
    if let Some(error) = paths.iter().find_map(|path| path.as_ref().err()) {
        return Err(error.clone());
    }
    let first = paths.first().cloned().transpose()?;
    Ok(first.map(LockPath::into_path).unwrap_or_default())
}

/// The decision whether a function may start.
#[derive(Debug)]
pub enum Start<H> {
    /// The function may start, under this lock or term.
    Now(H),
    /// The period has already begun.
    Later,
    /// The function may not start because of this error.
    Failed(LockError),
}

/// Takes the lock of a function unless its period is known to have begun, and begins the period.
pub async fn begin<K>(
    once: Once,
    client: impl Source,
    taken: impl Future<Output = Result<Guard<K>, LockError>>,
) -> Start<Guard<K>> {
    match begin_under(&once, client, taken).await {
        Ok(Some(held)) => Start::Now(held),
        Ok(None) => Start::Later,
        Err(error) => Start::Failed(error),
    }
}

async fn begin_under<K>(
    once: &Once,
    client: impl Source,
    taken: impl Future<Output = Result<Guard<K>, LockError>>,
) -> Result<Option<Guard<K>>, LockError> {
    let (path, tick) = (once.path()?, once.tick()?);
    // Taking the lock looks for the client on its own, and might find one that is installed meanwhile.
    let client = client.client().map_err(|error| about(error, path))?;
    if client.is_begun(tick, once.period)? {
        return Ok(None);
    }
    // The holder may have begun the period. This call then returns without waiting for the end of the
    // holder's body.
    let taken = async { Some(taken.await) };
    let begun = async {
        client.until_begun(tick, once.period).await;
        None
    };
    let held = match or(taken, begun).await {
        None => return Ok(None),
        // The holder may have begun the period, may have died before, or may hold the lock for other work.
        Some(Err(error)) if error.is_contended() => {
            let has_begun = client.has_begun(tick, once.period).await;
            return if has_begun.unwrap_or(false) { Ok(None) } else { Err(error) };
        }
        Some(held) => held?,
    };
    match held.once_per(tick, once.period).await {
        Ok(true) => Ok(Some(held)),
        outcome => {
            held.finish().await;
            outcome.map(|_| None)
        }
    }
}

/// Begins the period of a function that the leader runs.
pub async fn begin_term(once: Once, term: Term) -> Start<Term> {
    let may_start = match once.path().and_then(|_| once.tick()) {
        Ok(tick) => term.leadership().once_per(tick, once.period).await,
        Err(error) => Err(error),
    };
    match may_start {
        Ok(true) => Start::Now(term),
        Ok(false) => Start::Later,
        Err(error) => Start::Failed(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static SWEEP: Function = Function::new(["billing::jobs", "sweep", "jobs.rs:1"]);

    fn function(name: &'static str, place: &'static str) -> &'static Function {
        Box::leak(Box::new(Function::new(["billing::jobs", name, place])))
    }

    #[track_caller]
    fn check(paths: &[&str], tick: &str) {
        let paths: Vec<_> = paths.iter().map(|path| Ok((*path).to_owned().into())).collect();
        assert_eq!(&*SWEEP.tick("", &paths).unwrap(), tick);
    }

    #[test]
    fn the_tick_of_a_method_names_its_type() {
        let tick = SWEEP.tick("billing::Ledger<'_>", &[Ok("/a".into())]);
        assert_eq!(&*tick.unwrap(), "/zklock-ticks/billing::jobs::Ledger::sweep/a");
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
    async fn a_call_without_a_client_takes_no_lock_although_one_is_installed_meanwhile() {
        let once = Once::at(Ok("/t".into()), &[Ok("/jobs".into())], Duration::from_secs(1));
        let none = Err(LockError::NotInstalled { name: None, path: None });
        let taken = async { unreachable!("the lock is taken") };
        let outcome = begin_under::<()>(&once, none, taken).await;
        assert!(
            matches!(&outcome, Err(LockError::NotInstalled { path: Some(path), .. }) if path == "/jobs"),
            "{outcome:?}"
        );
    }

    #[tokio::test]
    async fn an_invalid_path_is_reported_before_a_missing_client() {
        let invalid = LockError::InvalidPath { path: "/a/{id}".into(), reason: "a value is empty".into() };
        let once = Once::at(Ok("/t".into()), &[Ok("/b".into()), Err(invalid)], Duration::from_secs(1));
        let none = Err(LockError::NotInstalled { name: None, path: None });
        let outcome = begin_under::<()>(&once, none, async { unreachable!("the lock is taken") }).await;
        assert!(
            matches!(&outcome, Err(LockError::InvalidPath { path, .. }) if path == "/a/{id}"),
            "{outcome:?}"
        );
    }

    #[test]
    fn an_invalid_path_has_no_tick() {
        let invalid = LockError::InvalidPath { path: "/a/{id}".into(), reason: "a value is empty".into() };
        let tick = SWEEP.tick("", &[Err(invalid)]);
        assert_eq!(tick.unwrap_err().to_string(), "invalid path \"/a/{id}\": a value is empty");
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

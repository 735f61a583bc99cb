//! Assertions about the locks that the current call holds.
//!
//! Uses no other module.

use zklock_core::{Held, LockError};

/// Panics unless the current call holds the lock or leads the election at this path.
///
/// It is meant for functions that rely on a lock of their callers, and costs no request. The path is any `AsRef<str>`,
/// relative to the client's namespace, of any client. A lock that is lost is not held; a broken connection is no loss.
/// See [`current`](crate::current) for the places in which a call holds a lock.
///
/// # Panics
///
/// Panics at the place of the assertion, with the path, and with the locks that the call holds instead or the
/// reason of the loss.
///
/// # Examples
///
/// ```
/// # struct Order { id: u64 }
/// fn book(order: &Order) {
///     zklock::assert_held!(format!("/orders/{}", order.id));
///     // …
/// }
///
/// let panic = std::panic::catch_unwind(|| book(&Order { id: 7 })).unwrap_err();
/// let message = panic.downcast_ref::<String>().unwrap();
/// assert_eq!(message, "the current call does not hold /orders/7: it holds no lock");
/// ```
#[macro_export]
macro_rules! assert_held {
    ($path:expr $(,)?) => {
        $crate::__private::assert_held(::core::convert::AsRef::<str>::as_ref(&$path))
    };
}

/// Panics if the current call holds the lock or leads the election at this path.
///
/// It is meant for functions that wait for calls that need the lock, or that take locks in a fixed order. See
/// [`assert_held!`](crate::assert_held).
///
/// # Panics
///
/// Panics at the place of the assertion, with the path and all locks that the call holds.
///
/// # Examples
///
/// ```
/// zklock::assert_not_held!("/orders/7");
/// ```
#[macro_export]
macro_rules! assert_not_held {
    ($path:expr $(,)?) => {
        $crate::__private::assert_not_held(::core::convert::AsRef::<str>::as_ref(&$path))
    };
}

/// Panics unless the current call holds the lock at this path.
#[track_caller]
pub fn assert_held(path: &str) {
    let held = zklock_core::held();
    match check(&held, path) {
        Some(Ok(())) => {}
        Some(Err(error)) => panic!("the current call does not hold {path} any more: {error}"),
        None => panic!("the current call does not hold {path}: it holds {}", list(&held)),
    }
}

/// Panics if the current call holds the lock at this path.
#[track_caller]
pub fn assert_not_held(path: &str) {
    let held = zklock_core::held();
    if let Some(Ok(())) = check(&held, path) {
        panic!("the current call holds {path}: it holds {}", list(&held));
    }
}

/// Returns whether the lock is still held, or `None` if the call did not take it.
fn check(held: &[Held], path: &str) -> Option<Result<(), LockError>> {
    let entries = held.iter().filter(|one| one.paths().any(|held| held == path));
    entries.map(Held::check).reduce(Result::or)
}

/// Lists the paths of the locks, from the innermost to the outermost, each once.
fn list(held: &[Held]) -> String {
    let mut paths: Vec<&str> = Vec::new();
    for path in held.iter().flat_map(Held::paths) {
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    if paths.is_empty() { "no lock".to_owned() } else { paths.join(", ") }
}

#[cfg(test)]
mod tests {
    use std::panic::{self, Location};
    use std::sync::{Arc, Mutex};
    use std::thread;

    #[test]
    fn a_failed_assertion_names_its_own_place() {
        let (place, this) = (Arc::new(Mutex::new(None)), thread::current().id());
        let (told, before) = (place.clone(), panic::take_hook());
        panic::set_hook(Box::new(move |panic| {
            if thread::current().id() == this {
                *told.lock().unwrap() = panic.location().map(|at| (at.file().to_owned(), at.line()));
            } else {
                before(panic);
            }
        }));
        #[rustfmt::skip]
        let (here, outcome) = (Location::caller(), panic::catch_unwind(|| crate::assert_held!("/a")));
        drop(panic::take_hook());
        assert!(outcome.is_err());
        assert_eq!(*place.lock().unwrap(), Some((here.file().to_owned(), here.line())));
    }
}

//! The functions behind the assertions about the locks of the current call.

use zklock_core::{Current, LockError};

/// Panics unless the current call holds the lock at this path.
#[track_caller]
pub fn assert_held(path: &str) {
    let held = zklock_core::held();
    match standing(&held, path) {
        Standing::Held => {}
        Standing::Lost(error) => panic!("the current call does not hold {path} any more: {error}"),
        Standing::Elsewhere => panic!("the current call does not hold {path}: it holds {}", list(&held)),
    }
}

/// Panics if the current call holds the lock at this path.
#[track_caller]
pub fn assert_not_held(path: &str) {
    let held = zklock_core::held();
    if let Standing::Held = standing(&held, path) {
        panic!("the current call holds {path}: it holds {}", list(&held));
    }
}

/// Whether a call holds a lock.
enum Standing {
    Held,
    Lost(LockError),
    Elsewhere,
}

fn standing(held: &[Current], path: &str) -> Standing {
    let mut standing = Standing::Elsewhere;
    for one in held.iter().filter(|one| one.paths().any(|held| held == path)) {
        match one.check() {
            Ok(()) => return Standing::Held,
            Err(error) => standing = Standing::Lost(error),
        }
    }
    standing
}

/// Lists the paths of the locks, from the innermost to the outermost, each once.
fn list(held: &[Current]) -> String {
    let mut paths: Vec<&str> = Vec::new();
    for path in held.iter().flat_map(Current::paths) {
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    if paths.is_empty() { "no lock".to_owned() } else { paths.join(", ") }
}

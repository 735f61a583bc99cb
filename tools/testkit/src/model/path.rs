//! The paths of nodes, and their validation: `PathUtils.validatePath`.

use crate::wire::ErrorCode;

/// Checks that a node can have this path.
pub(super) fn validate(path: &str) -> Result<(), ErrorCode> {
    let valid = match path.strip_prefix('/') {
        None => false,
        Some("") => true,
        Some(rest) => rest.split('/').all(is_name),
    };
    if valid { Ok(()) } else { Err(ErrorCode::BAD_ARGUMENTS) }
}

fn is_name(name: &str) -> bool {
    !matches!(name, "" | "." | "..") && name.chars().all(is_allowed)
}

/// Returns whether a path may contain this character.
///
/// Java checks UTF-16 units, and so refuses the surrogates of every character beyond the first plane.
fn is_allowed(character: char) -> bool {
    !matches!(
        character,
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{e000}'..='\u{f8ff}' | '\u{fff0}'..
    )
}

/// Returns the path of the parent, as found by requests that do not validate the path.
///
/// The result is `/` for a child of the root, and also for the root itself, which has no parent.
pub(super) fn parent_of(path: &str) -> Result<&str, ErrorCode> {
    match path.rfind('/') {
        Some(_) if path.contains('\0') => Err(ErrorCode::BAD_ARGUMENTS),
        Some(0) => Ok("/"),
        Some(slash) => Ok(&path[..slash]),
        None => Err(ErrorCode::BAD_ARGUMENTS),
    }
}

/// Returns the last part of a valid path.
pub(super) fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

/// Returns the path of a child.
pub(super) fn child_of(parent: &str, name: &str) -> String {
    match parent {
        "/" => format!("/{name}"),
        _ => format!("{parent}/{name}"),
    }
}

/// Returns the path itself and the paths of all ancestors, ending with the root.
pub(super) fn with_ancestors(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(path), |&path| match path {
        "/" => None,
        _ => parent_of(path).ok(),
    })
}

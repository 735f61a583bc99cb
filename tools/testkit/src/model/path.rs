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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_refused_as_zookeeper_refuses_them() {
        for path in
            ["", "a", "//", "/a//b", "/a/", "/.", "/..", "/a/./b", "/a/../b", "/a/..", "/a\0", "/\u{1}"]
        {
            assert_eq!(validate(path), Err(ErrorCode::BAD_ARGUMENTS), "{path:?}");
        }
        for path in ["/\u{1f}", "/\u{7f}", "/\u{9f}", "/\u{e000}", "/\u{f8ff}", "/\u{fff0}", "/\u{1f600}"] {
            assert_eq!(validate(path), Err(ErrorCode::BAD_ARGUMENTS), "{path:?}");
        }
        for path in ["/", "/a", "/a/b", "/...", "/.a", "/a.", "/a..b", "/ ", "/é", "/\u{a0}", "/\u{ffef}"] {
            assert_eq!(validate(path), Ok(()), "{path:?}");
        }
    }

    #[test]
    fn a_path_has_a_parent_and_a_name() {
        assert_eq!((parent_of("/a/b"), name_of("/a/b")), (Ok("/a"), "b"));
        assert_eq!((parent_of("/a"), name_of("/a")), (Ok("/"), "a"));
        assert_eq!(parent_of("a"), Err(ErrorCode::BAD_ARGUMENTS));
        assert_eq!((child_of("/", "a"), child_of("/a", "b")), ("/a".into(), "/a/b".into()));
        assert_eq!(with_ancestors("/a/b").collect::<Vec<_>>(), ["/a/b", "/a", "/"]);
    }
}

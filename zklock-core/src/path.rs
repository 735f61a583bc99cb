//! Validates the paths of locks and nodes, once, before any request is sent.
//!
//! The rules are those of ZooKeeper's `PathUtils.validatePath`, and three more: a path is not the
//! root, it is neither the servers' own `/zookeeper` nor below it, and together with its namespace
//! it stays below the servers' default packet limit.
//!
//! Uses only `error`.

use std::fmt;
use std::sync::Arc;

use crate::error::LockError;

/// A validated absolute path below the root (chroot and namespace) of one client, or the root itself.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct NodePath {
    full: Arc<str>,
    /// The number of bytes of the root, with which `full` begins.
    root_len: usize,
}

impl NodePath {
    /// Validates `path`, which is relative to `root`. The root must be valid already, or empty.
    pub(crate) fn new(root: &str, path: &str) -> Result<Self, LockError> {
        let invalid = |reason: String| LockError::InvalidPath { path: shorten(path), reason };
        validate(path).map_err(invalid)?;
        if path == "/" {
            return Err(invalid("the root cannot be a lock".into()));
        }
        if root.len() + path.len() > MAX_BYTES {
            return Err(invalid(format!("longer than {MAX_BYTES} bytes with its namespace")));
        }
        let full: Arc<str> = [root, path].concat().into();
        if &*full == RESERVED || full.strip_prefix(RESERVED).is_some_and(|rest| rest.starts_with('/')) {
            return Err(invalid(format!("{RESERVED} belongs to the servers")));
        }
        Ok(Self { full, root_len: root.len() })
    }

    /// Validates `path`, which may be `/`: the root itself.
    pub(crate) fn or_root(root: &str, path: &str) -> Result<Self, LockError> {
        if path == "/" { Ok(Self { full: root.into(), root_len: root.len() }) } else { Self::new(root, path) }
    }

    /// Tells whether this is the node whose tree belongs to the servers.
    pub(crate) fn is_reserved(&self) -> bool {
        &*self.full == RESERVED
    }

    /// Returns the path on the server, which is empty for the server's root.
    pub(crate) fn full(&self) -> &str {
        &self.full
    }

    /// Returns the path below the root, as the user wrote it. It is empty for the root itself.
    pub(crate) fn relative(&self) -> &str {
        &self.full[self.root_len..]
    }

    /// Returns the path of the child with this name, which must be valid.
    pub(crate) fn below(&self, name: &str) -> Self {
        Self { full: self.child(name).into(), root_len: self.root_len }
    }

    /// Returns the parent's path on the server, which is empty if the parent is the root.
    pub(crate) fn parent(&self) -> &str {
        self.full.rsplit_once('/').map_or("", |(parent, _)| parent)
    }

    /// Returns a child's path on the server.
    pub(crate) fn child(&self, name: &str) -> String {
        [&self.full, "/", name].concat()
    }
}

impl fmt::Debug for NodePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.full, f)
    }
}

impl fmt::Display for NodePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The namespace itself can be the path of a survey.
        f.write_str(if self.relative().is_empty() { "/" } else { self.relative() })
    }
}

/// Validates a root such as a namespace or chroot; `/` and the empty string mean none.
pub(crate) fn validate_root(path: &str) -> Result<&str, String> {
    match path {
        "" | "/" => Ok(""),
        path => validate(path).map(|()| path),
    }
}

fn validate(path: &str) -> Result<(), String> {
    if path.is_empty() {
        return Err("it is empty".into());
    }
    let Some(segments) = path.strip_prefix('/') else {
        return Err("it must start with `/`".into());
    };
    if let Some(c) = path.chars().find(|c| is_forbidden(*c)) {
        return Err(format!("it contains the character {:?}", c));
    }
    if segments.is_empty() {
        return Ok(());
    }
    match segments.split('/').find(|segment| matches!(*segment, "" | "." | "..")) {
        Some("") if path.ends_with('/') => Err("it must not end with `/`".into()),
        Some("") => Err("it has an empty segment".into()),
        Some(segment) => Err(format!("the segment `{segment}` is relative")),
        None => Ok(()),
    }
}

/// Returns `true` for a character that ZooKeeper refuses in a path.
///
/// ZooKeeper checks UTF-16 units, so it also refuses characters beyond the basic plane, which
/// become surrogates.
fn is_forbidden(c: char) -> bool {
    matches!(c, '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{e000}'..='\u{f8ff}' | '\u{fff0}'..='\u{10ffff}')
}

fn shorten(path: &str) -> String {
    const SHOWN: usize = 120;
    match path.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}… ({} bytes)", &path[..end], path.len()),
        None => path.to_owned(),
    }
}

const RESERVED: &str = "/zookeeper";
/// The maximum length of a path with its namespace.
///
/// A request must fit into the server's `jute.maxbuffer`, 1 MiB less one byte by default, and needs
/// room for the node's name, data and headers besides.
const MAX_BYTES: usize = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(path: &str, reason: &str) {
        match NodePath::new("/app", path) {
            Err(LockError::InvalidPath { reason: got, .. }) => assert_eq!(got, reason, "{path:?}"),
            other => panic!("{path:?} was not refused: {other:?}"),
        }
    }

    #[test]
    fn paths_that_cannot_name_a_lock_are_refused_with_the_cause() {
        refused("", "it is empty");
        refused("a", "it must start with `/`");
        refused("a/b", "it must start with `/`");
        refused("/", "the root cannot be a lock");
        refused("//", "it must not end with `/`");
        refused("/a//b", "it has an empty segment");
        refused("/a/", "it must not end with `/`");
        refused("/a/..", "the segment `..` is relative");
        refused("/../a", "the segment `..` is relative");
        refused("/a/./b", "the segment `.` is relative");
        refused("/a\0b", "it contains the character '\\0'");
        refused("/a\nb", "it contains the character '\\n'");
        refused("/a\u{7f}", "it contains the character '\\u{7f}'");
        refused("/a\u{f000}", "it contains the character '\\u{f000}'");
        refused("/a/😀", "it contains the character '😀'");
        refused(&format!("/{}", "a".repeat(1 << 20)), "longer than 1000000 bytes with its namespace");
    }

    #[test]
    fn the_servers_own_nodes_are_no_locks() {
        for path in ["/zookeeper", "/zookeeper/quota/a"] {
            let error = NodePath::new("", path).unwrap_err().to_string();
            assert!(error.ends_with("/zookeeper belongs to the servers"), "{error}");
            assert!(NodePath::new("/app", path).is_ok());
        }
        assert!(NodePath::new("", "/zookeepers/a").is_ok());
    }

    #[test]
    fn a_long_path_is_cut_in_the_message() {
        let error = NodePath::new("", &"x".repeat(5_000)).unwrap_err().to_string();
        assert!(error.len() < 300 && error.contains("(5000 bytes)"), "{error}");
    }

    #[test]
    fn valid_paths_stand_under_the_root_and_keep_their_own_form() {
        for path in ["/a", "/a/b", "/orders/ü/路径", "/...", "/a/.b", "/a b"] {
            let node = NodePath::new("/app/zoo", path).unwrap();
            assert_eq!(node.full(), format!("/app/zoo{path}"));
            assert_eq!(node.relative(), path);
        }
        assert_eq!(NodePath::new("", "/a").unwrap().child("x"), "/a/x");
        assert_eq!(NodePath::or_root("/app", "/").unwrap().to_string(), "/");
        let below = NodePath::new("/app", "/a").unwrap().below("x");
        assert_eq!((below.full(), below.relative(), below.parent()), ("/app/a/x", "/a/x", "/app/a"));
        assert_eq!(NodePath::new("", "/a").unwrap().parent(), "");
    }

    #[test]
    fn a_root_may_be_none() {
        assert_eq!(validate_root(""), Ok(""));
        assert_eq!(validate_root("/"), Ok(""));
        assert_eq!(validate_root("/app"), Ok("/app"));
        assert!(validate_root("app").is_err());
        assert!(validate_root("/app/").is_err());
    }
}

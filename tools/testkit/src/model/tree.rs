//! The tree of nodes, whose changes can be undone, and the paths in it: `DataTree` and `PathUtils`.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;

use crate::wire::{Acl, ErrorCode, Id, Stat, permissions};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Tree {
    nodes: BTreeMap<String, Node>,
}

/// The data needed to undo one change of the tree.
#[derive(Debug)]
pub(super) enum Undo {
    Create { path: String, parent_creates: i32, parent_pzxid: i64 },
    Delete { path: String, node: Box<Node>, parent_pzxid: i64 },
    SetData { path: String, data: Data },
}

impl Tree {
    /// Creates the tree of a server that was never used.
    pub(super) fn new() -> Self {
        let nodes = [
            ("/", Node::initial(&["zookeeper"])),
            ("/zookeeper", Node::initial(&["config", "quota"])),
            ("/zookeeper/config", Node::config()),
            ("/zookeeper/quota", Node::initial(&[])),
        ];
        Self { nodes: nodes.into_iter().map(|(path, node)| (path.to_owned(), node)).collect() }
    }

    /// Returns a node, or `None` if it does not exist.
    ///
    /// The empty path is another name of the root, for requests that do not validate the path.
    pub(super) fn get(&self, path: &str) -> Option<&Node> {
        self.nodes.get(if path.is_empty() { "/" } else { path })
    }

    pub(super) fn find(&self, path: &str) -> Result<&Node, ErrorCode> {
        self.get(path).ok_or(ErrorCode::NO_NODE)
    }

    pub(super) fn find_mut(&mut self, path: &str) -> Result<&mut Node, ErrorCode> {
        self.nodes.get_mut(path).ok_or(ErrorCode::NO_NODE)
    }

    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(super) fn paths(&self) -> impl Iterator<Item = &str> {
        self.nodes.keys().map(String::as_str)
    }

    pub(super) fn descendants(&self, path: &str) -> usize {
        let prefix = child_of(path, "");
        self.nodes.range(prefix.clone()..).take_while(|(path, _)| path.starts_with(&prefix)).count()
            - usize::from(path == "/")
    }

    /// Returns the sessions and the paths of all ephemeral nodes.
    pub(super) fn ephemerals(&self) -> impl Iterator<Item = (i64, &str)> {
        self.nodes.iter().filter_map(|(path, node)| match node.kind {
            Kind::Ephemeral { owner } => Some((owner, path.as_str())),
            _ => None,
        })
    }

    pub(super) fn ephemerals_of(&self, session: i64) -> impl Iterator<Item = &str> {
        self.ephemerals().filter(move |(owner, _)| *owner == session).map(|(_, path)| path)
    }

    /// Returns the containers that had children and have none left, and behind them the nodes without children that have
    /// outlived their time to live.
    pub(super) fn used_up(&self, now: i64) -> Vec<String> {
        let is_used_up =
            |node: &Node| node.kind == Kind::Container && node.children.is_empty() && node.creates > 0;
        let containers = self.nodes.iter().filter(|(_, node)| is_used_up(node));
        let overdue = self.nodes.iter().filter(|(_, node)| node.is_overdue(now));
        containers.chain(overdue).map(|(path, _)| path.clone()).collect()
    }

    /// Adds a new node to an existing parent.
    pub(super) fn create(&mut self, path: &str, node: Node, txn: Txn) -> Undo {
        let parent = self.parent_mut(path);
        let undo = Undo::Create {
            path: path.to_owned(),
            parent_creates: parent.creates,
            parent_pzxid: parent.pzxid,
        };
        // The counter of a real server stops at its greatest value: `DataTree.createNode` treats the next
        // value as that of a transaction that was already applied.
        let creates = parent.creates.wrapping_add(1);
        if creates > parent.creates {
            (parent.creates, parent.pzxid) = (creates, txn.zxid);
        }
        self.insert(path, node);
        undo
    }

    /// Removes an existing node that has no children.
    pub(super) fn delete(&mut self, path: &str, txn: Txn) -> Undo {
        let node = self.remove(path);
        let parent = self.existing_parent_mut(path);
        let parent_pzxid = parent.map_or(0, |parent| std::mem::replace(&mut parent.pzxid, txn.zxid));
        Undo::Delete { path: path.to_owned(), node: Box::new(node), parent_pzxid }
    }

    pub(super) fn set_data(&mut self, path: &str, bytes: Option<Bytes>, txn: Txn) -> (Stat, Undo) {
        let version = self.get_mut(path).data.version.wrapping_add(1);
        let undo = self.replace_data(path, Data { bytes, version, modified: txn });
        (self.get_mut(path).stat(), undo)
    }

    pub(super) fn replace_data(&mut self, path: &str, data: Data) -> Undo {
        let data = std::mem::replace(&mut self.get_mut(path).data, data);
        Undo::SetData { path: path.to_owned(), data }
    }

    pub(super) fn set_acl(&mut self, path: &str, acl: Vec<Acl>) -> Stat {
        let node = self.get_mut(path);
        node.acl = acl;
        node.acl_version = node.acl_version.wrapping_add(1);
        node.stat()
    }

    /// Undoes a change; several changes must be undone in reverse order.
    pub(super) fn undo(&mut self, undo: Undo) {
        match undo {
            Undo::Create { path, parent_creates, parent_pzxid } => {
                self.remove(&path);
                let parent = self.parent_mut(&path);
                (parent.creates, parent.pzxid) = (parent_creates, parent_pzxid);
            }
            Undo::Delete { path, node, parent_pzxid } => {
                self.insert(&path, *node);
                self.parent_mut(&path).pzxid = parent_pzxid;
            }
            Undo::SetData { path, data } => self.get_mut(&path).data = data,
        }
    }

    fn insert(&mut self, path: &str, node: Node) {
        self.parent_mut(path).children.insert(name_of(path).to_owned());
        self.nodes.insert(path.to_owned(), node);
    }

    fn remove(&mut self, path: &str) -> Node {
        let node = self.nodes.remove(path).expect("the caller has found the node");
        if let Some(parent) = self.existing_parent_mut(path) {
            parent.children.remove(name_of(path));
        }
        node
    }

    pub(super) fn get_mut(&mut self, path: &str) -> &mut Node {
        self.find_mut(path).expect("the caller has found the node")
    }

    fn parent_mut(&mut self, path: &str) -> &mut Node {
        self.existing_parent_mut(path).expect("the caller has found the parent")
    }

    /// Returns the parent of a node, which may be gone if it does not list that node.
    fn existing_parent_mut(&mut self, path: &str) -> Option<&mut Node> {
        self.nodes.get_mut(parent_of(path).expect("the caller has validated the path"))
    }
}

/// The kind of a node, which determines when the server deletes it. One with a time to live goes when it has no child, and
/// its data was not replaced for this number of milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Persistent,
    Ephemeral { owner: i64 },
    Container,
    TimeToLive { millis: i64 },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Txn {
    pub(super) zxid: i64,
    /// The time in milliseconds since 1970.
    pub(super) time: i64,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Node {
    pub(super) kind: Kind,
    pub(super) acl: Vec<Acl>,
    pub(super) children: BTreeSet<String>,
    /// The number of children ever created, which is the counter for sequential names.
    pub(super) creates: i32,
    pub(super) data: Data,
    pub(super) acl_version: i32,
    created: Txn,
    pub(super) pzxid: i64,
}

impl Node {
    pub(super) fn new(kind: Kind, bytes: Option<Bytes>, acl: Vec<Acl>, txn: Txn) -> Self {
        Self {
            kind,
            acl,
            children: BTreeSet::new(),
            creates: 0,
            data: Data { bytes, version: 0, modified: txn },
            acl_version: 0,
            created: txn,
            pzxid: txn.zxid,
        }
    }

    /// Creates a node that exists before the first transaction.
    pub(super) fn initial(children: &[&str]) -> Self {
        let acl = vec![Acl::open()];
        let children = children.iter().map(|&name| name.to_owned()).collect();
        let node = Self::new(Kind::Persistent, Some(Bytes::new()), acl, Txn { zxid: 0, time: 0 });
        Self { children, ..node }
    }

    /// Creates the node for the ensemble's configuration, which everyone may read.
    pub(super) fn config() -> Self {
        let acl = vec![Acl::new(permissions::READ, Id::new("world", "anyone"))];
        Self { acl, ..Self::initial(&[]) }
    }

    pub(super) fn stat(&self) -> Stat {
        let length = |count: usize| i32::try_from(count).unwrap_or(i32::MAX);
        let num_children = length(self.children.len());
        Stat {
            czxid: self.created.zxid,
            mzxid: self.data.modified.zxid,
            ctime: self.created.time,
            mtime: self.data.modified.time,
            version: self.data.version,
            // Clients see the number of creations and deletions: a child that is gone counts twice.
            cversion: self.creates.wrapping_mul(2).wrapping_sub(num_children),
            aversion: self.acl_version,
            ephemeral_owner: if let Kind::Ephemeral { owner } = self.kind { owner } else { 0 },
            data_length: length(self.data.bytes.as_ref().map_or(0, Bytes::len)),
            num_children,
            pzxid: self.pzxid,
        }
    }

    /// Returns whether the node has outlived its time, if it has one: `ContainerManager.getCandidates`.
    pub(super) fn is_overdue(&self, now: i64) -> bool {
        match self.kind {
            Kind::TimeToLive { millis } => {
                self.children.is_empty() && now.saturating_sub(self.data.modified.time) > millis
            }
            _ => false,
        }
    }
}

/// A node's data, and its last change.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Data {
    pub(super) bytes: Option<Bytes>,
    pub(super) version: i32,
    pub(super) modified: Txn,
}

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

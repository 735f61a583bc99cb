//! The tree of nodes, whose changes can be undone: `DataTree`.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;

use super::node::{Data, Kind, Node, Txn};
use super::path::{child_of, name_of, parent_of};
use crate::wire::{Acl, ErrorCode, Stat};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Tree {
    nodes: BTreeMap<String, Node>,
    /// The ephemeral nodes of each session.
    ephemerals: BTreeMap<i64, BTreeSet<String>>,
}

/// The data needed to undo one change of the tree.
#[derive(Debug)]
pub(super) enum Undo {
    Create { path: String, parent_creates: i32, parent_pzxid: i64 },
    Delete { path: String, node: Box<Node>, parent_pzxid: i64 },
    SetData { path: String, data: Data },
    SetStatistics { path: String, data: Option<Bytes> },
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
        Self {
            nodes: nodes.into_iter().map(|(path, node)| (path.to_owned(), node)).collect(),
            ephemerals: BTreeMap::new(),
        }
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

    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(super) fn paths(&self) -> impl Iterator<Item = &str> {
        self.nodes.keys().map(String::as_str)
    }

    /// Returns the number of descendants of a node.
    pub(super) fn descendants(&self, path: &str) -> usize {
        let prefix = child_of(path, "");
        self.nodes.range(prefix.clone()..).take_while(|(path, _)| path.starts_with(&prefix)).count()
            - usize::from(path == "/")
    }

    pub(super) fn ephemerals_of(&self, session: i64) -> impl Iterator<Item = &str> {
        self.ephemerals.get(&session).into_iter().flatten().map(String::as_str)
    }

    pub(super) fn ephemerals(&self) -> &BTreeMap<i64, BTreeSet<String>> {
        &self.ephemerals
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

    pub(super) fn set_data(&mut self, path: &str, data: Option<Bytes>, txn: Txn) -> (Stat, Undo) {
        let node = self.get_mut(path);
        let data = node.replace_data(data, txn);
        (node.stat(), Undo::SetData { path: path.to_owned(), data })
    }

    pub(super) fn set_acl(&mut self, path: &str, acl: Vec<Acl>) -> Stat {
        let node = self.get_mut(path);
        node.acl = acl;
        node.acl_version = node.acl_version.wrapping_add(1);
        node.stat()
    }

    /// Takes a node out of the children of its parent, and leaves it otherwise as it is.
    pub(super) fn unlist(&mut self, path: &str) -> Result<(), ErrorCode> {
        self.find(path)?;
        let parent = self.nodes.get_mut(parent_of(path)?).ok_or(ErrorCode::NO_NODE)?;
        parent.children.remove(name_of(path));
        Ok(())
    }

    /// Sets the number that the next sequential child gets.
    pub(super) fn set_counter(&mut self, path: &str, next: i32) -> Result<(), ErrorCode> {
        self.nodes.get_mut(path).ok_or(ErrorCode::NO_NODE)?.creates = next;
        Ok(())
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
            Undo::SetData { path, data } => self.get_mut(&path).restore_data(data),
            Undo::SetStatistics { path, data } => {
                self.get_mut(&path).replace_statistics(data);
            }
        }
    }

    fn insert(&mut self, path: &str, node: Node) {
        if let Kind::Ephemeral { owner } = node.kind {
            self.ephemerals.entry(owner).or_default().insert(path.to_owned());
        }
        self.parent_mut(path).children.insert(name_of(path).to_owned());
        self.nodes.insert(path.to_owned(), node);
    }

    fn remove(&mut self, path: &str) -> Node {
        let node = self.nodes.remove(path).expect("the caller has found the node");
        if let Some(parent) = self.existing_parent_mut(path) {
            parent.children.remove(name_of(path));
        }
        if let Kind::Ephemeral { owner } = node.kind
            && let Some(paths) = self.ephemerals.get_mut(&owner)
        {
            paths.remove(path);
            if paths.is_empty() {
                self.ephemerals.remove(&owner);
            }
        }
        node
    }

    pub(super) fn get_mut(&mut self, path: &str) -> &mut Node {
        self.nodes.get_mut(path).expect("the caller has found the node")
    }

    fn parent_mut(&mut self, path: &str) -> &mut Node {
        self.existing_parent_mut(path).expect("the caller has found the parent")
    }

    /// Returns the parent of a node, which may be gone if it does not list that node.
    fn existing_parent_mut(&mut self, path: &str) -> Option<&mut Node> {
        self.nodes.get_mut(parent_of(path).expect("the caller has validated the path"))
    }
}

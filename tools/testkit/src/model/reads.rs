//! The requests that read the tree and set watches: `FinalRequestProcessor`.

use bytes::Bytes;

use super::ConnectionId;
use super::acl::Identities;
use super::tree::{Node, Tree};
use super::watches::{Mode, Table, Watches};
use crate::wire::{
    AddWatch, ErrorCode, EventType, Op, Opcode, Response, SetWatches, Stat, WatchEvent, WatcherType,
    permissions,
};

/// The state that a read request of a connection works on.
#[derive(Debug)]
pub(super) struct Reading<'a> {
    pub(super) tree: &'a Tree,
    pub(super) watches: &'a mut Watches,
    pub(super) connection: ConnectionId,
    pub(super) identities: &'a Identities,
}

impl<'a> Reading<'a> {
    pub(super) fn exists(&mut self, path: &str, watch: bool) -> Result<Response, ErrorCode> {
        if path.contains('\0') {
            return Err(ErrorCode::BAD_ARGUMENTS);
        }
        let node = self.tree.get(path);
        node.map_or(Ok(()), |node| self.identities.may(permissions::READ, &node.acl))?;
        if watch {
            self.watches.data.add(path, self.connection, Mode::OneShot);
        }
        node.map(|node| Response::Stat(node.stat())).ok_or(ErrorCode::NO_NODE)
    }

    pub(super) fn data(&mut self, path: &str, watch: bool) -> Result<Response, ErrorCode> {
        let node = self.readable(path)?;
        if watch {
            self.watches.data.add(path, self.connection, Mode::OneShot);
        }
        Ok(Response::Data { data: node.data.bytes.clone(), stat: node.stat() })
    }

    pub(super) fn children(&mut self, path: &str, watch: bool) -> Result<(Vec<String>, Stat), ErrorCode> {
        let node = self.readable(path)?;
        if watch {
            self.watches.child.add(path, self.connection, Mode::OneShot);
        }
        Ok((node.children.iter().cloned().collect(), node.stat()))
    }

    pub(super) fn acl(&self, path: &str) -> Result<Response, ErrorCode> {
        let node = self.tree.find(path)?;
        self.identities.may(permissions::READ | permissions::ADMIN, &node.acl)?;
        Ok(Response::Acl { acl: self.identities.shown(&node.acl), stat: node.stat() })
    }

    pub(super) fn descendants(&self, path: &str) -> Result<Response, ErrorCode> {
        self.readable(path)?;
        Ok(Response::Count(self.tree.descendants(path).try_into().unwrap_or(i32::MAX)))
    }

    /// Performs the reads of a multi-read, each with its own result. They set no watches: `Op.getData`.
    ///
    /// A short request can ask for the same large data many times. An answer that is larger than
    /// [`LARGEST_ANSWER`] is refused, where a real server would run out of memory.
    pub(super) fn all(&mut self, ops: &[Op]) -> Result<Response, ErrorCode> {
        let (mut results, mut size) = (Vec::new(), 0);
        for op in ops {
            let outcome = match op {
                Op::GetData { path, .. } => self.data(path, false),
                Op::GetChildren { path, .. } => {
                    self.children(path, false).map(|(names, _)| Response::Children(names))
                }
                _ => Err(ErrorCode::MARSHALLING_ERROR),
            };
            size += match &outcome {
                Ok(Response::Data { data, .. }) => data.as_ref().map_or(0, Bytes::len),
                Ok(Response::Children(names)) => names.iter().map(String::len).sum(),
                _ => 0,
            };
            if size > LARGEST_ANSWER {
                return Err(ErrorCode::MARSHALLING_ERROR);
            }
            results.push((if outcome.is_ok() { op.opcode() } else { Opcode::ERROR }, outcome));
        }
        Ok(Response::Multi(results))
    }

    pub(super) fn add_watch(&mut self, add: &AddWatch) -> Result<Response, ErrorCode> {
        match add.mode {
            0 => self.watches.add_persistent(&add.path, self.connection),
            1 => self.watches.add_recursive(&add.path, self.connection),
            _ => return Err(ErrorCode::MARSHALLING_ERROR),
        }
        Ok(Response::Zero)
    }

    pub(super) fn check_watches(&self, path: &str, kind: WatcherType) -> Result<Response, ErrorCode> {
        let (data, child) = meant(kind)?;
        let found = self.watches.data.contains(path, self.connection, data)
            || self.watches.child.contains(path, self.connection, child);
        if found { Ok(Response::Empty) } else { Err(ErrorCode::NO_WATCHER) }
    }

    pub(super) fn remove_watches(&mut self, path: &str, kind: WatcherType) -> Result<Response, ErrorCode> {
        let (data, child) = meant(kind)?;
        let data = self.watches.data.remove(path, self.connection, data);
        let child = self.watches.child.remove(path, self.connection, child);
        if data || child { Ok(Response::Empty) } else { Err(ErrorCode::NO_WATCHER) }
    }

    /// Sets the watches of an earlier connection again, and returns the events that they missed:
    /// `DataTree.setWatches`.
    pub(super) fn set_watches(&mut self, set: &SetWatches) -> Vec<WatchEvent> {
        let (tree, connection, since) = (self.tree, self.connection, set.relative_zxid);
        let changed = |path: &str, event, is_new: fn(&Node, i64) -> bool| match tree.get(path) {
            None => Some(EventType::Deleted),
            Some(node) => is_new(node, since).then_some(event),
        };
        let mut missed = Vec::new();
        let mut set_again = |table: &mut Table, path: &String, event: Option<EventType>| match event {
            Some(event) => missed.push(WatchEvent { event, path: path.clone() }),
            None => table.add(path, connection, Mode::OneShot),
        };
        for path in &set.data {
            let event = changed(path, EventType::DataChanged, |node, since| node.data.modified.zxid > since);
            set_again(&mut self.watches.data, path, event);
        }
        for path in &set.exist {
            set_again(&mut self.watches.data, path, tree.get(path).map(|_| EventType::Created));
        }
        for path in &set.child {
            let event = changed(path, EventType::ChildrenChanged, |node, since| node.pzxid > since);
            set_again(&mut self.watches.child, path, event);
        }
        set.persistent.iter().for_each(|path| self.watches.add_persistent(path, self.connection));
        set.persistent_recursive.iter().for_each(|path| self.watches.add_recursive(path, self.connection));
        missed
    }

    fn readable(&self, path: &str) -> Result<&'a Node, ErrorCode> {
        let node = self.tree.find(path)?;
        self.identities.may(permissions::READ, &node.acl)?;
        Ok(node)
    }
}

/// The limit on the data and names in the answer to a multi-read, in bytes.
const LARGEST_ANSWER: usize = 64 << 20;

/// Returns the modes of data watches and of child watches that a type stands for.
fn meant(kind: WatcherType) -> Result<(&'static [Mode], &'static [Mode]), ErrorCode> {
    const ALL: &[Mode] = &[Mode::OneShot, Mode::Persistent, Mode::Recursive];
    match kind {
        WatcherType::CHILDREN => Ok((&[], &[Mode::OneShot])),
        WatcherType::DATA => Ok((&[Mode::OneShot], &[])),
        WatcherType::PERSISTENT => Ok((&[Mode::Persistent], &[Mode::Persistent])),
        WatcherType::PERSISTENT_RECURSIVE => Ok((&[Mode::Recursive], &[])),
        WatcherType::ANY => Ok((ALL, ALL)),
        _ => Err(ErrorCode::MARSHALLING_ERROR),
    }
}

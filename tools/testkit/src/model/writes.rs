//! The requests that change the tree: `PrepRequestProcessor`, and the changes themselves.

use super::acl::Identities;
use super::tree::{Kind, Node, Tree, Txn, Undo, child_of, name_of, parent_of, validate};
use crate::wire::{
    Acl, CheckVersion, Create, CreateFlags, Delete, ErrorCode, EventType, Op, OpResult, Opcode, Response,
    SetAcl, SetData, Stat, permissions,
};

/// A change that watches may report.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) event: EventType,
    pub(super) path: String,
    /// The ACL of the node: only clients that may read the node are notified.
    pub(super) acl: Vec<Acl>,
}

/// The author of changes, and whether it may create nodes with a time to live.
#[derive(Clone, Copy, Debug)]
pub(super) struct Author<'a> {
    pub(super) session: i64,
    pub(super) identities: &'a Identities,
    pub(super) ttl_nodes: bool,
}

/// The form of a request for changes.
///
/// The opcode of a single request determines whether it creates a container; in a multi, the flags of a
/// create do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Single,
    Multi,
}

/// The operation that creates a node, which determines its kind together with the flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    Create,
    CreateContainer,
    /// The operation that has a time to live, in milliseconds.
    CreateTtl(i64),
}

/// Changes that are committed or rolled back together.
#[derive(Debug)]
pub(super) struct Transaction<'a> {
    tree: &'a mut Tree,
    author: Author<'a>,
    form: Form,
    txn: Txn,
    undo: Vec<Undo>,
    changes: Vec<Change>,
}

impl<'a> Transaction<'a> {
    pub(super) fn new(tree: &'a mut Tree, author: Author<'a>, form: Form, txn: Txn) -> Self {
        Self { tree, author, form, txn, undo: Vec::new(), changes: Vec::new() }
    }

    pub(super) fn commit(self) -> Vec<Change> {
        self.changes
    }

    pub(super) fn roll_back(self) {
        self.undo.into_iter().rev().for_each(|undo| self.tree.undo(undo));
    }

    /// Applies one operation; after an error, the transaction must be rolled back.
    pub(super) fn apply(&mut self, op: &Op) -> Result<OpResult, ErrorCode> {
        match op {
            // A multi treats this as the create of a container, whose result has a stat.
            Op::Create(create) if self.form == Form::Multi && create.flags == CreateFlags::CONTAINER => {
                self.create2(create, By::CreateContainer)
            }
            Op::Create(create) => {
                Ok((Opcode::CREATE, Ok(Response::Path(self.create(create, By::Create)?.0))))
            }
            Op::Create2(create) => self.create2(create, By::Create),
            Op::CreateContainer(create) => self.create2(create, By::CreateContainer),
            // A multi ignores a time to live that the flags do not ask for.
            Op::CreateTtl { create, .. } if self.form == Form::Multi && !has_ttl(create.flags) => {
                self.apply(&Op::Create(create.clone()))
            }
            Op::CreateTtl { create, ttl } => self.create2(create, By::CreateTtl(*ttl)),
            Op::Delete(delete) => self.delete(delete),
            Op::SetData(set) => Ok((Opcode::SET_DATA, Ok(Response::Stat(self.set_data(set)?)))),
            Op::Check(check) => self.check(check),
            _ => Err(ErrorCode::MARSHALLING_ERROR),
        }
    }

    fn create2(&mut self, create: &Create, by: By) -> Result<OpResult, ErrorCode> {
        let (path, stat) = self.create(create, by)?;
        Ok((Opcode::CREATE2, Ok(Response::Created { path, stat })))
    }

    fn create(&mut self, create: &Create, by: By) -> Result<(String, Stat), ErrorCode> {
        check_flags(create.flags, by, self.author.ttl_nodes)?;
        let parent_path = parent_of(&create.path)?;
        let acl = self.author.identities.expand(&create.acl)?;
        let parent = self.tree.find(parent_path)?;
        self.author.identities.may(permissions::CREATE, &parent.acl)?;
        let path = match is_sequential(create.flags) {
            true => format!("{}{:010}", create.path, parent.creates),
            false => create.path.clone(),
        };
        validate(&path)?;
        if self.tree.get(&path).is_some() {
            return Err(ErrorCode::NODE_EXISTS);
        }
        if matches!(parent.kind, Kind::Ephemeral { .. }) {
            return Err(ErrorCode::NO_CHILDREN_FOR_EPHEMERALS);
        }
        let kind = self.kind_of(create.flags, by);
        let parent_change = Change {
            event: EventType::ChildrenChanged,
            path: parent_path.to_owned(),
            acl: parent.acl.clone(),
        };
        let node = Node::new(kind, create.data.clone(), acl.clone(), self.txn);
        let stat = node.stat();
        self.undo.push(self.tree.create(&path, node, self.txn));
        self.undo.extend(self.tree.count_created(&path));
        self.changes.extend([Change { event: EventType::Created, path: path.clone(), acl }, parent_change]);
        Ok((path, stat))
    }

    fn kind_of(&self, flags: CreateFlags, by: By) -> Kind {
        match (self.form, by) {
            (Form::Single, By::CreateContainer) => Kind::Container,
            (Form::Multi, _) if flags == CreateFlags::CONTAINER => Kind::Container,
            (_, By::CreateTtl(millis)) if has_ttl(flags) => Kind::TimeToLive { millis },
            _ if is_ephemeral(flags) => Kind::Ephemeral { owner: self.author.session },
            _ => Kind::Persistent,
        }
    }

    fn delete(&mut self, delete: &Delete) -> Result<OpResult, ErrorCode> {
        let path = &delete.path;
        let parent = self.tree.find(checked_parent_of(path)?)?;
        self.author.identities.may(permissions::DELETE, &parent.acl)?;
        let node = self.tree.find(path)?;
        check_version(node.data.version, delete.version)?;
        if !node.children.is_empty() {
            return Err(ErrorCode::NOT_EMPTY);
        }
        self.remove(path);
        Ok((Opcode::DELETE, Ok(Response::Empty)))
    }

    /// Deletes an existing node without checking permissions.
    pub(super) fn remove(&mut self, path: &str) {
        let parent_path = parent_of(path).expect("the caller has found the node");
        let acl_of = |path: &str| self.tree.get(path).map(|node| node.acl.clone()).unwrap_or_default();
        let change = |event, path: &str| Change { event, path: path.to_owned(), acl: acl_of(path) };
        let changes = [change(EventType::Deleted, path), change(EventType::ChildrenChanged, parent_path)];
        let bytes = self.tree.size_of(path);
        self.undo.push(self.tree.delete(path, self.txn));
        self.undo.extend(self.tree.count_deleted(path, bytes));
        self.changes.extend(changes);
    }

    fn set_data(&mut self, set: &SetData) -> Result<Stat, ErrorCode> {
        validate(&set.path)?;
        let node = self.tree.find(&set.path)?;
        self.author.identities.may(permissions::WRITE, &node.acl)?;
        check_version(node.data.version, set.version)?;
        let change = Change { event: EventType::DataChanged, path: set.path.clone(), acl: node.acl.clone() };
        let before = self.tree.size_of(&set.path);
        let (stat, undo) = self.tree.set_data(&set.path, set.data.clone(), self.txn);
        self.undo.push(undo);
        self.undo.extend(self.tree.count_replaced(&set.path, before));
        self.changes.push(change);
        Ok(stat)
    }

    fn check(&self, check: &CheckVersion) -> Result<OpResult, ErrorCode> {
        validate(&check.path)?;
        let node = self.tree.find(&check.path)?;
        self.author.identities.may(permissions::READ, &node.acl)?;
        check_version(node.data.version, check.version)?;
        Ok((Opcode::CHECK, Ok(Response::Empty)))
    }

    /// Replaces an ACL, which is not an operation of multis.
    pub(super) fn set_acl(self, set: &SetAcl) -> Result<Stat, ErrorCode> {
        validate(&set.path)?;
        let acl = self.author.identities.expand(&set.acl)?;
        let node = self.tree.find(&set.path)?;
        self.author.identities.may(permissions::ADMIN, &node.acl)?;
        check_version(node.acl_version, set.version)?;
        Ok(self.tree.set_acl(&set.path, acl))
    }
}

/// Returns the parent of a node to delete, and refuses the root and the server's own nodes.
fn checked_parent_of(path: &str) -> Result<&str, ErrorCode> {
    match path {
        "/" | "/zookeeper" | "/zookeeper/quota" | "/zookeeper/config" => Err(ErrorCode::BAD_ARGUMENTS),
        _ => match parent_of(path)? {
            // A path that differs from its parent and name put together, such as `//a`, is that of no node.
            parent if child_of(parent, name_of(path)) == path => Ok(parent),
            _ => Err(ErrorCode::NO_NODE),
        },
    }
}

fn check_version(version: i32, expected: i32) -> Result<(), ErrorCode> {
    if expected == -1 || expected == version { Ok(()) } else { Err(ErrorCode::BAD_VERSION) }
}

/// Checks that a server creates nodes with these flags by this operation: `CreateMode.fromFlag` and
/// `EphemeralType.validateTTL`.
fn check_flags(flags: CreateFlags, by: By, ttl_nodes: bool) -> Result<(), ErrorCode> {
    match by {
        _ if !(0..=6).contains(&flags.0) => Err(ErrorCode::BAD_ARGUMENTS),
        _ if has_ttl(flags) && !ttl_nodes => Err(ErrorCode::UNIMPLEMENTED),
        By::CreateTtl(1..=LONGEST_TTL) if has_ttl(flags) => Ok(()),
        By::CreateTtl(0..) => Err(ErrorCode::BAD_ARGUMENTS),
        _ if has_ttl(flags) => Err(ErrorCode::BAD_ARGUMENTS),
        // A real server ends at this request.
        By::CreateTtl(_) => Err(ErrorCode::UNIMPLEMENTED),
        By::Create | By::CreateContainer => Ok(()),
    }
}

fn is_sequential(flags: CreateFlags) -> bool {
    use CreateFlags as F;
    matches!(flags, F::PERSISTENT_SEQUENTIAL | F::EPHEMERAL_SEQUENTIAL | F::PERSISTENT_SEQUENTIAL_WITH_TTL)
}

fn is_ephemeral(flags: CreateFlags) -> bool {
    matches!(flags, CreateFlags::EPHEMERAL | CreateFlags::EPHEMERAL_SEQUENTIAL)
}

fn has_ttl(flags: CreateFlags) -> bool {
    matches!(flags, CreateFlags::PERSISTENT_WITH_TTL | CreateFlags::PERSISTENT_SEQUENTIAL_WITH_TTL)
}

/// The longest time to live in milliseconds, which has five bytes.
const LONGEST_TTL: i64 = 0xff_ffff_ffff;

//! The answers to requests, and the watch events that requests cause.

use super::acl::Identities;
use super::reads::Reading;
use super::tree::{Txn, child_of, with_ancestors};
use super::writes::{Author, Change, Form, Transaction};
use super::{ConnectionId, Message, Model, Output};
use crate::wire::{
    ErrorCode, Op, OpResult, Opcode, ReplyHeader, Request, Response, SetWatches, WatchEvent, permissions, xid,
};

impl Model {
    pub(super) fn authenticate(
        &mut self,
        connection: ConnectionId,
        xid: i32,
        scheme: &str,
        proof: Option<&[u8]>,
    ) {
        let Some(state) = self.connections.get_mut(&connection) else {
            return;
        };
        let super_digest = self.settings.super_digest.as_deref();
        let error = state.identities.add(scheme, proof, super_digest).err().unwrap_or(ErrorCode::OK);
        self.send(connection, Message::Reply(ReplyHeader { xid, zxid: 0, error }, Response::Empty));
        if error != ErrorCode::OK {
            self.close(connection);
        }
    }

    /// Answers a request that neither authenticates nor closes the connection.
    pub(super) fn answer(
        &mut self,
        connection: ConnectionId,
        request: Request,
    ) -> Result<Response, ErrorCode> {
        match request {
            Request::Create(_)
            | Request::Create2(_)
            | Request::CreateContainer(_)
            | Request::CreateTtl { .. }
            | Request::Delete(_)
            | Request::SetData(_) => self.write(connection, &request),
            Request::Multi(ops) if ops.iter().any(is_read) => Err(ErrorCode::MARSHALLING_ERROR),
            Request::MultiRead(ops) if !ops.iter().all(is_read) => Err(ErrorCode::MARSHALLING_ERROR),
            Request::Multi(ops) => self.multi(connection, &ops).map(Response::Multi),
            Request::SetAcl(set) => self
                .transaction(connection, Form::Single, |transaction| (transaction.set_acl(&set), Vec::new()))
                .map(Response::Stat),
            Request::SetWatches(set) | Request::SetWatches2(set) => {
                self.set_watches(connection, &set);
                Ok(Response::Empty)
            }
            Request::Sync { path } => Ok(Response::Path(path)),
            Request::WhoAmI => Ok(Response::WhoAmI(self.identities(connection).infos())),
            Request::GetEphemerals { prefix } => {
                Ok(Response::Ephemerals(self.ephemerals_below(connection, &prefix)))
            }
            request => self.read(connection, request),
        }
    }

    fn read(&mut self, connection: ConnectionId, request: Request) -> Result<Response, ErrorCode> {
        let identities = self.identities(connection);
        let (tree, watches) = (&self.tree, &mut self.watches);
        let mut reading = Reading { tree, watches, connection, identities: &identities };
        match request {
            Request::Exists { path, watch } => reading.exists(&path, watch),
            Request::GetData { path, watch } => reading.data(&path, watch),
            Request::GetChildren { path, watch } => {
                let (children, _) = reading.children(&path, watch)?;
                Ok(Response::Children(children))
            }
            Request::GetChildren2 { path, watch } => {
                let (children, stat) = reading.children(&path, watch)?;
                Ok(Response::Children2 { children, stat })
            }
            Request::GetAcl { path } => reading.acl(&path),
            Request::GetAllChildrenNumber { path } => reading.descendants(&path),
            Request::MultiRead(ops) => reading.all(&ops),
            Request::AddWatch(add) => reading.add_watch(&add),
            Request::CheckWatches { path, kind } => reading.check_watches(&path, kind),
            Request::RemoveWatches { path, kind } => reading.remove_watches(&path, kind),
            _ => Err(ErrorCode::UNIMPLEMENTED),
        }
    }

    fn write(&mut self, connection: ConnectionId, op: &Op) -> Result<Response, ErrorCode> {
        self.transaction(connection, Form::Single, |mut transaction| match transaction.apply(op) {
            Ok((_, outcome)) => (outcome, transaction.commit()),
            Err(error) => (Err(error), Vec::new()),
        })
    }

    /// Applies all operations or none. An operation that a server fails to handle has no result of its own.
    fn multi(&mut self, connection: ConnectionId, ops: &[Op]) -> Result<Vec<OpResult>, ErrorCode> {
        self.transaction(connection, Form::Multi, |mut transaction| {
            let mut results = Vec::with_capacity(ops.len());
            for op in ops {
                match transaction.apply(op) {
                    Ok(result) => results.push(result),
                    Err(error) => {
                        transaction.roll_back();
                        let outcome = match error {
                            ErrorCode::MARSHALLING_ERROR => Err(error),
                            _ => Ok(all_failed(ops.len(), results.len(), error)),
                        };
                        return (outcome, Vec::new());
                    }
                }
            }
            (Ok(results), transaction.commit())
        })
    }

    /// Runs the next transaction, which takes an id even if it fails, and announces its changes.
    fn transaction<T>(
        &mut self,
        connection: ConnectionId,
        form: Form,
        run: impl FnOnce(Transaction<'_>) -> (T, Vec<Change>),
    ) -> T {
        let identities = self.identities(connection);
        let session = self.session_of(connection).unwrap_or_default();
        let txn = self.next_txn();
        let author = Author { session, identities: &identities, ttl_nodes: self.settings.ttl_nodes };
        let (result, changes) = run(Transaction::new(&mut self.tree, author, form, txn));
        self.announce(changes);
        result
    }

    pub(super) fn next_txn(&mut self) -> Txn {
        self.zxid += 1;
        Txn { zxid: self.zxid, time: self.wall_clock() }
    }

    fn wall_clock(&self) -> i64 {
        self.now.saturating_add(self.ahead)
    }

    /// Ends a session, and deletes its ephemeral nodes in one transaction.
    pub(super) fn end_session(&mut self, session: i64) {
        if self.sessions.live.remove(&session).is_some() {
            let paths: Vec<_> = self.tree.ephemerals_of(session).map(str::to_owned).collect();
            self.delete_all(&paths);
        }
    }

    /// Deletes the containers that had children and have none left, and the nodes that have outlived their time
    /// to live, each in its own transaction: `ContainerManager`.
    pub(super) fn reap(&mut self) {
        for path in self.tree.used_up(self.wall_clock()) {
            self.delete_all(&[path]);
        }
    }

    /// Deletes a node and its descendants regardless of their ACLs in one transaction, and returns their number.
    ///
    /// The root and the server's own nodes are not deleted.
    pub fn delete(&mut self, path: &str) -> usize {
        let below = child_of(path, "");
        let is_servers =
            |found: &str| found == "/" || with_ancestors(found).any(|above| above == "/zookeeper");
        let in_it = self.tree.paths().filter(|&found| found == path || found.starts_with(&below));
        let in_it = in_it.filter(|found| !is_servers(found));
        let mut paths: Vec<_> = in_it.map(str::to_owned).collect();
        // A node can be deleted only after its children, whose paths are longer.
        paths.sort_unstable_by_key(|path| std::cmp::Reverse(path.len()));
        if !paths.is_empty() {
            self.delete_all(&paths);
        }
        paths.len()
    }

    fn delete_all(&mut self, paths: &[String]) {
        let nobody = Identities::default();
        let txn = self.next_txn();
        let author = Author { session: 0, identities: &nobody, ttl_nodes: self.settings.ttl_nodes };
        let mut transaction = Transaction::new(&mut self.tree, author, Form::Single, txn);
        paths.iter().for_each(|path| transaction.remove(path));
        let changes = transaction.commit();
        self.announce(changes);
    }

    /// Notifies the connections that watch a change and may read the node.
    fn announce(&mut self, changes: Vec<Change>) {
        for Change { event, path, acl } in changes {
            for connection in self.watches.trigger(event, &path) {
                if self.identities(connection).may(permissions::READ, &acl).is_ok() {
                    self.tell(connection, self.zxid, WatchEvent { event, path: path.clone() });
                }
            }
        }
    }

    fn set_watches(&mut self, connection: ConnectionId, set: &SetWatches) {
        let identities = self.identities(connection);
        let (tree, watches) = (&self.tree, &mut self.watches);
        let missed = Reading { tree, watches, connection, identities: &identities }.set_watches(set);
        for event in missed {
            self.tell(connection, Self::NO_ZXID, event);
        }
    }

    pub(super) fn ephemerals_below(&self, connection: ConnectionId, prefix: &str) -> Vec<String> {
        let paths = self.session_of(connection).into_iter().flat_map(|id| self.tree.ephemerals_of(id));
        paths.filter(|path| path.starts_with(prefix.trim())).map(str::to_owned).collect()
    }

    pub(super) fn identities(&self, connection: ConnectionId) -> Identities {
        self.connections.get(&connection).map(|state| state.identities.clone()).unwrap_or_default()
    }

    /// The transaction id of a message that belongs to no transaction: `WatchedEvent.NO_ZXID`.
    pub(super) const NO_ZXID: i64 = -1;

    fn tell(&mut self, connection: ConnectionId, zxid: i64, event: WatchEvent) {
        let header = ReplyHeader { xid: xid::NOTIFICATION, zxid, error: ErrorCode::OK };
        self.send(connection, Message::Event(header, event));
    }

    pub(super) fn reply(&mut self, connection: ConnectionId, xid: i32, result: Result<Response, ErrorCode>) {
        let (error, response) = match result {
            Ok(response) => (ErrorCode::OK, response),
            Err(error) => (error, Response::Empty),
        };
        self.send(connection, Message::Reply(ReplyHeader { xid, zxid: self.zxid, error }, response));
    }

    pub(super) fn send(&mut self, connection: ConnectionId, message: Message) {
        self.outputs.push(Output::Send(connection, message));
    }

    pub(super) fn close(&mut self, connection: ConnectionId) {
        self.disconnect(connection);
        self.outputs.push(Output::Close(connection));
    }
}

/// Returns whether an operation belongs in a multi-read rather than in a multi.
fn is_read(op: &Op) -> bool {
    matches!(op, Op::GetData { .. } | Op::GetChildren { .. })
}

/// Returns the results of a multi in which the operation at index `failed` has failed.
fn all_failed(count: usize, failed: usize, error: ErrorCode) -> Vec<OpResult> {
    let error_of = |index: usize| match index.cmp(&failed) {
        std::cmp::Ordering::Less => ErrorCode::OK,
        std::cmp::Ordering::Equal => error,
        std::cmp::Ordering::Greater => ErrorCode::RUNTIME_INCONSISTENCY,
    };
    (0..count).map(|index| (Opcode::ERROR, Err(error_of(index)))).collect()
}

//! Creates the nodes above contenders, as containers, which the server removes when unused.

use zookeeper_client as zk;

use crate::error::{Permission, Refusal};
use crate::path::NodePath;
use crate::session::acl::NodeAcl;
use crate::session::clock::Ack;
use crate::session::fault::Fault;

use super::Ops;
use super::request::Length;

impl Ops {
    /// Creates a queue, its lock if that is another node, and the missing parents of the lock.
    ///
    /// Begins with the nearest node, because a client may be permitted to create nodes there and not further up.
    pub(crate) async fn prepare(&self, lock: &NodePath, queue: &str) -> Result<(), Fault> {
        match self.make_own(lock.full(), queue).await {
            Err(Fault::NoNode) if !lock.parent().is_empty() => {
                self.prepare_parents(lock.parent()).await?;
                self.make_own(lock.full(), queue).await
            }
            made => made,
        }
    }

    /// Creates a parent and its missing ancestors.
    pub(crate) async fn prepare_parents(&self, dir: &str) -> Result<(), Fault> {
        let mut missing = vec![dir];
        while let Some(path) = missing.last() {
            match (self.make(path, &self.acls.parents).await, path.rsplit_once('/')) {
                (Ok(()), _) => drop(missing.pop()),
                (Err(Fault::NoNode), Some((parent, _))) if !parent.is_empty() => missing.push(parent),
                (Err(fault), _) => return Err(fault),
            }
        }
        Ok(())
    }

    async fn make_own(&self, lock: &str, queue: &str) -> Result<(), Fault> {
        match self.make(queue, &self.acls.own).await {
            Err(Fault::NoNode) if lock != queue => {
                self.make(lock, &self.acls.own).await?;
                self.make(queue, &self.acls.own).await
            }
            made => made,
        }
    }

    /// Creates one container, unless it is there.
    async fn make(&self, path: &str, acl: &NodeAcl) -> Result<(), Fault> {
        let client = self.client().await?;
        Length::of_create(path, b"", acl.acls()).check()?;
        let options = zk::CreateMode::Container.with_acls(acl.acls());
        let sent = self.clock.now();
        match self.note(Ack::Write, sent, client.create(path, b"", &options).await) {
            Ok(_) | Err(Fault::Refused(Refusal::NodeExists)) => Ok(()),
            Err(fault) => Err(fault.lacking(Permission::Create)),
        }
    }
}

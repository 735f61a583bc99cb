//! Creates the nodes above contenders, as containers, which the server removes when unused.

use zookeeper_client as zk;

use crate::error::Permission;
use crate::path::NodePath;
use crate::session::clock::Ack;
use crate::session::fault::Fault;

use super::Ops;
use super::request::Length;

impl Ops {
    /// Creates a queue, its lock if that is another node, and the missing parents of the lock.
    pub(crate) async fn prepare(&self, lock: &NodePath, queue: &str) -> Result<(), Fault> {
        let client = self.client()?;
        Length::of_create(queue, b"", self.acls.own.acls()).check()?;
        Length::of_create(lock.parent(), b"", self.acls.parents.acls()).check()?;
        let sent = self.clock.now();
        let made = self.make(&client, lock, queue).await;
        self.note(Ack::Write, sent, made).map_err(|fault| fault.lacking(Permission::Create))
    }

    /// Creates a parent and its missing ancestors.
    pub(crate) async fn prepare_parents(&self, dir: &str) -> Result<(), Fault> {
        let client = self.client()?;
        Length::of_create(dir, b"", self.acls.parents.acls()).check()?;
        let sent = self.clock.now();
        let made = self.make_parents(&client, dir).await;
        self.note(Ack::Write, sent, made).map_err(|fault| fault.lacking(Permission::Create))
    }

    /// Begins with the nearest node, because a client may be permitted to create nodes there and not further up.
    async fn make(&self, client: &zk::Client, lock: &NodePath, queue: &str) -> Result<(), zk::Error> {
        match self.make_own(client, lock.full(), queue).await {
            Err(zk::Error::NoNode) if !lock.parent().is_empty() => {
                self.make_parents(client, lock.parent()).await?;
                self.make_own(client, lock.full(), queue).await
            }
            made => made,
        }
    }

    async fn make_own(&self, client: &zk::Client, lock: &str, queue: &str) -> Result<(), zk::Error> {
        match self.make_one(client, queue).await {
            Err(zk::Error::NoNode) if lock != queue => {
                self.make_one(client, lock).await?;
                self.make_one(client, queue).await
            }
            made => made,
        }
    }

    async fn make_one(&self, client: &zk::Client, path: &str) -> Result<(), zk::Error> {
        let options = zk::CreateMode::Container.with_acls(self.acls.own.acls());
        match client.create(path, b"", &options).await {
            Err(zk::Error::NodeExists) => Ok(()),
            made => made.map(drop),
        }
    }

    async fn make_parents(&self, client: &zk::Client, dir: &str) -> Result<(), zk::Error> {
        client.mkdir(dir, &zk::CreateMode::Container.with_acls(self.acls.parents.acls())).await
    }
}

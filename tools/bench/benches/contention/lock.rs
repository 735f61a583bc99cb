//! One operation: a lock is taken, held and released.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use zklock::{Client, Config, Guard, LeaderLatch, MultiLock, Mutex, RwLock, Semaphore, distributed_lock};

use crate::Failure;
use crate::entrant::{Body, Entered};
use crate::options::{ENTRIES_PER_SAMPLE, Options, Release, Scenario, Through};
use crate::raw::{self, Raw};

/// A session, which its tasks share.
#[derive(Clone)]
pub(crate) enum Session {
    Zklock(Client),
    /// The bare client, and the parent of the nodes of all tasks.
    Raw(zookeeper_client::Client, String),
}

/// Opens the sessions of a measurement.
pub(crate) async fn open(options: &Options, server: &str, namespace: &str) -> Result<Vec<Session>, Failure> {
    if options.scenario == Scenario::Raw {
        let clients = raw::connect(server, namespace, options.sessions).await?;
        return Ok(clients.into_iter().map(|client| Session::Raw(client, namespace.to_owned())).collect());
    }
    let mut sessions = Vec::new();
    for _ in 0..options.sessions {
        let config = Config::new(server).namespace(namespace).default_wait(Duration::MAX);
        sessions.push(Session::Zklock(config.connect().await?));
    }
    Ok(sessions)
}

/// Closes the sessions, after the nodes of all tasks are deleted.
pub(crate) async fn close(sessions: Vec<Session>) -> Result<(), Failure> {
    if let Some(Session::Raw(client, namespace)) = sessions.first() {
        raw::delete_children(client, namespace).await?;
    }
    for session in sessions {
        if let Session::Zklock(client) = session {
            client.shutdown(GRACE).await;
        }
    }
    Ok(())
}

/// The lock that a task takes, and the way in which it does.
pub(crate) struct Lock {
    kind: Kind,
    through: Through,
    release: Release,
}

enum Kind {
    /// A mutex, and the name by which the annotated function takes it.
    Mutex(Mutex, String),
    /// Held all the time, so that each operation enters it again.
    Reentrant(Mutex),
    Rw(RwLock),
    Semaphore(Semaphore),
    Multi(MultiLock),
    /// Candidates of one election, each of which leads once.
    Leader(Client),
    /// Locks that are taken once each, at paths that have no node before, and the first part of their names.
    Fresh(Client, String),
    FreshMulti(Client, String),
    Raw(Raw),
}

impl Lock {
    /// Returns the lock of a task, of which one path or node is its own.
    pub(crate) async fn new(options: &Options, session: &Session, own: &str) -> Result<Self, Failure> {
        let kind = match session {
            Session::Raw(client, parent) => {
                Kind::Raw(Raw::new(client.clone(), format!("{parent}/{own}")).await?)
            }
            Session::Zklock(client) => match options.scenario {
                Scenario::Mutex => Kind::Mutex(client.mutex(path(SHARED))?, SHARED.to_owned()),
                Scenario::Distinct | Scenario::Raw => Kind::Mutex(client.mutex(path(own))?, own.to_owned()),
                Scenario::Reentrant => Kind::Reentrant(client.mutex(path(own))?),
                Scenario::Rw => Kind::Rw(client.rwlock(path(SHARED))?),
                Scenario::Semaphore => Kind::Semaphore(client.semaphore(path(SHARED), PERMITS)?),
                Scenario::Multi => Kind::Multi(client.multi([path("a"), path("b")])?),
                Scenario::Leader => Kind::Leader(client.clone()),
                Scenario::Fresh => Kind::Fresh(client.clone(), own.to_owned()),
                Scenario::FreshMulti => Kind::FreshMulti(client.clone(), own.to_owned()),
            },
        };
        Ok(Self { kind, through: options.through, release: options.release })
    }

    /// Returns the mutex of a task that holds it all the time.
    pub(crate) fn reentrant(&self) -> Option<&Mutex> {
        match &self.kind {
            Kind::Reentrant(mutex) => Some(mutex),
            _ => None,
        }
    }

    /// Performs one operation, which is a read or a write depending on its number if the lock has both.
    pub(crate) async fn operate(&self, number: u32, body: &Body) -> Result<Entered, Failure> {
        match &self.kind {
            Kind::Mutex(mutex, name) => self.enter(mutex, name, body).await,
            Kind::Reentrant(mutex) => {
                let first = self.hold(mutex.lock().await?, body).await?;
                for _ in 1..ENTRIES_PER_SAMPLE {
                    self.release(mutex.lock().await?).await?;
                }
                Ok(first)
            }
            Kind::Rw(lock) if number.is_multiple_of(READS_AND_A_WRITE) => {
                self.hold(lock.write().await?, body).await
            }
            Kind::Rw(lock) => self.hold(lock.read().await?, body).await,
            Kind::Semaphore(semaphore) => self.hold(semaphore.acquire().await?, body).await,
            Kind::Multi(locks) => self.hold(locks.lock().await?, body).await,
            Kind::Leader(client) => self.lead(client.leader_latch(path(SHARED))?, body).await,
            Kind::Fresh(client, own) => {
                let name = format!("{own}-{}", next());
                self.enter(&client.mutex(path(&name))?, &name, body).await
            }
            Kind::FreshMulti(client, own) => {
                let path = path(&format!("{own}-{}", next()));
                let locks = client.multi([format!("{path}-a"), format!("{path}-b")])?;
                self.hold(locks.lock().await?, body).await
            }
            Kind::Raw(raw) => raw.operate(body).await,
        }
    }

    async fn enter(&self, mutex: &Mutex, name: &str, body: &Body) -> Result<Entered, Failure> {
        match self.through {
            Through::Guard => self.hold(mutex.lock().await?, body).await,
            Through::Run => Ok(mutex.run(async |_held| body.run().await).await?),
            Through::Attribute => critical_section(name, body).await,
        }
    }

    async fn hold<K>(&self, guard: Guard<K>, body: &Body) -> Result<Entered, Failure> {
        let entered = body.run().await;
        self.release(guard).await?;
        Ok(entered)
    }

    async fn lead(&self, latch: LeaderLatch, body: &Body) -> Result<Entered, Failure> {
        latch.leadership().await?;
        let entered = body.run().await;
        match self.release {
            Release::Awaited => latch.close().await?,
            Release::Background => drop(latch),
        }
        Ok(entered)
    }

    async fn release<K>(&self, guard: Guard<K>) -> Result<(), Failure> {
        match self.release {
            Release::Awaited => guard.release().await?,
            Release::Background => drop(guard),
        }
        Ok(())
    }
}

/// Returns the number of a path that was not used yet.
fn next() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

#[distributed_lock(path = "/locks/{name}", wait = forever)]
async fn critical_section(name: &str, body: &Body) -> Result<Entered, Failure> {
    Ok(body.run().await)
}

/// Returns the path that `critical_section` locks.
fn path(name: &str) -> String {
    format!("/locks/{name}")
}

/// The name of the lock of all tasks.
const SHARED: &str = "shared";

const PERMITS: u32 = 3;

/// The length of a cycle of one write and nine reads.
const READS_AND_A_WRITE: u32 = 10;

/// The time that a client may take to shut down.
const GRACE: Duration = Duration::from_secs(5);

//! One operation: a lock is taken, held and released.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use zklock::{Client, Config, Guard, MultiLock, Mutex, RwLock, Semaphore, distributed_lock};

use crate::Failure;
use crate::body::{Body, Entered};
use crate::options::{ENTRIES_PER_SAMPLE, Options, Release, Scenario, Through};
use crate::raw::{self, Raw};

/// The sessions of a measurement.
pub(crate) enum Sessions {
    Zklock(Vec<Client>),
    Raw(Vec<zookeeper_client::Client>, String),
}

/// The session of a task, and the path or node that is its own.
#[derive(Clone)]
pub(crate) enum Place {
    Zklock(Client, String),
    Raw(Raw),
}

impl Sessions {
    pub(crate) async fn open(options: &Options, server: &str, namespace: &str) -> Result<Self, Failure> {
        if options.scenario == Scenario::Raw {
            let clients = raw::connect(server, namespace, options.sessions).await?;
            return Ok(Self::Raw(clients, namespace.to_owned()));
        }
        let mut clients = Vec::new();
        for _ in 0..options.sessions {
            let config = Config::new(server).namespace(namespace).default_wait(Duration::MAX);
            clients.push(config.connect().await?);
        }
        Ok(Self::Zklock(clients))
    }

    pub(crate) async fn place(&self, session: u32, own: &str) -> Result<Place, Failure> {
        let session = session as usize;
        Ok(match self {
            Self::Zklock(clients) => Place::Zklock(clients[session].clone(), own.to_owned()),
            Self::Raw(clients, namespace) => {
                Place::Raw(Raw::new(clients[session].clone(), format!("{namespace}/{own}")).await?)
            }
        })
    }

    pub(crate) async fn close(self) -> Result<(), Failure> {
        match self {
            Self::Zklock(clients) => {
                for client in clients {
                    client.shutdown(GRACE).await;
                }
                Ok(())
            }
            Self::Raw(clients, namespace) => raw::delete_children(&clients[0], &namespace).await,
        }
    }
}

/// The lock that a task takes, and the way in which it does.
pub(crate) enum Lock {
    Mutex(Mutex, Release),
    Run(Mutex),
    /// The name of the mutex that the annotated function takes.
    Attribute(String),
    /// Held all the time, so that each operation enters it again.
    Reentrant(Mutex, Release),
    Rw(RwLock, Release),
    Semaphore(Semaphore, Release),
    Multi(MultiLock, Release),
    Fresh(Fresh),
    Raw(Raw),
}

impl Lock {
    pub(crate) fn new(options: &Options, place: &Place) -> Result<Self, Failure> {
        let release = options.release;
        let (client, own) = match place {
            Place::Zklock(client, own) => (client, own),
            Place::Raw(raw) => return Ok(Self::Raw(raw.clone())),
        };
        Ok(match options.scenario {
            Scenario::Mutex => Self::mutex(options, client, SHARED)?,
            Scenario::Distinct | Scenario::Raw => Self::mutex(options, client, own)?,
            Scenario::Reentrant => Self::Reentrant(client.mutex(path(own))?, release),
            Scenario::Rw => Self::Rw(client.rwlock(path(SHARED))?, release),
            Scenario::Semaphore => Self::Semaphore(client.semaphore(path(SHARED), PERMITS)?, release),
            Scenario::Multi => Self::Multi(client.multi([path("a"), path("b")])?, release),
            Scenario::Fresh | Scenario::FreshMulti => Self::Fresh(Fresh::new(options, client, own)),
        })
    }

    /// Returns the mutex of this name.
    fn mutex(options: &Options, client: &Client, name: &str) -> Result<Self, Failure> {
        Ok(match options.through {
            Through::Guard => Self::Mutex(client.mutex(path(name))?, options.release),
            Through::Run => Self::Run(client.mutex(path(name))?),
            Through::Attribute => Self::Attribute(name.to_owned()),
        })
    }

    /// Performs one operation, which is a read or a write depending on its number if the lock has both.
    pub(crate) async fn operate(&self, number: u32, body: &Body) -> Result<Entered, Failure> {
        Ok(match self {
            Self::Mutex(mutex, release) => hold(mutex.lock().await?, *release, body).await?,
            Self::Run(mutex) => mutex.run(async |_held| body.run().await).await?,
            Self::Attribute(name) => critical_section(name, body).await?,
            Self::Reentrant(mutex, release) => enter_again(mutex, *release, body).await?,
            Self::Rw(lock, release) if number.is_multiple_of(READS_AND_A_WRITE) => {
                hold(lock.write().await?, *release, body).await?
            }
            Self::Rw(lock, release) => hold(lock.read().await?, *release, body).await?,
            Self::Semaphore(semaphore, release) => hold(semaphore.acquire().await?, *release, body).await?,
            Self::Multi(locks, release) => hold(locks.lock().await?, *release, body).await?,
            Self::Fresh(fresh) => fresh.operate(body).await?,
            Self::Raw(raw) => raw.operate(body).await?,
        })
    }
}

/// Locks that are taken once each, at paths that have no node before.
pub(crate) struct Fresh {
    client: Client,
    own: String,
    scenario: Scenario,
    release: Release,
    through: Through,
    taken: AtomicU32,
}

impl Fresh {
    fn new(options: &Options, client: &Client, own: &str) -> Self {
        Self {
            client: client.clone(),
            own: own.to_owned(),
            scenario: options.scenario,
            release: options.release,
            through: options.through,
            taken: AtomicU32::new(0),
        }
    }

    async fn operate(&self, body: &Body) -> Result<Entered, Failure> {
        let name = format!("{}-{}", self.own, self.taken.fetch_add(1, Ordering::Relaxed));
        let path = path(&name);
        if self.scenario == Scenario::FreshMulti {
            let locks = self.client.multi([format!("{path}-a"), format!("{path}-b")])?;
            return hold(locks.lock().await?, self.release, body).await;
        }
        match self.through {
            Through::Guard => hold(self.client.mutex(path)?.lock().await?, self.release, body).await,
            Through::Run => Ok(self.client.mutex(path)?.run(async |_held| body.run().await).await?),
            Through::Attribute => critical_section(&name, body).await,
        }
    }
}

async fn hold<K>(guard: Guard<K>, release: Release, body: &Body) -> Result<Entered, Failure> {
    let entered = body.run().await;
    match release {
        Release::Awaited => guard.release().await?,
        Release::Background => drop(guard),
    }
    Ok(entered)
}

async fn enter_again(mutex: &Mutex, release: Release, body: &Body) -> Result<Entered, Failure> {
    let first = hold(mutex.lock().await?, release, body).await?;
    for _ in 1..ENTRIES_PER_SAMPLE {
        let guard = mutex.lock().await?;
        match release {
            Release::Awaited => guard.release().await?,
            Release::Background => drop(guard),
        }
    }
    Ok(first)
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

/// The permits of the semaphore.
const PERMITS: u32 = 3;

/// The length of a cycle of one write and nine reads.
const READS_AND_A_WRITE: u32 = 10;

/// The time that a client may take to shut down.
const GRACE: Duration = Duration::from_secs(5);

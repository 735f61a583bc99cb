//! One connection of a session: a client of the library, whose task we poll ourselves; and the watches that belong to it.
//!
//! * [`addresses`] has the servers of the connect string.
//! * [`security`] has the credentials and the certificates of a client and the access control lists of its nodes, `gssapi`
//!   its login by Kerberos, and `tls` its encrypted connections.
//! * [`diagnose`] finds the reason of each server that opens no session.
//!
//! # The task of the library
//!
//! The library connects again on its own, with pauses that become longer than a lease, and does not tell everything that
//! has happened meanwhile. Its task is therefore taken from it, and is not polled any more once its connection is broken.
//!
//! * The library tells of a broken connection, and begins to connect again, in one poll. It sends nothing before the next
//!   one, which never comes, because the state is looked at after each poll.
//! * A client closes its session when its last handle is dropped, if its task is polled after that. The task is therefore
//!   dropped first.
//! * A watch panics if its task is gone. Each wait for one is also a wait for the end of the connection, which is polled first.

pub(crate) mod addresses;
pub(crate) mod diagnose;
#[cfg(feature = "sasl-gssapi")]
pub(crate) mod gssapi;
pub(crate) mod security;
#[cfg(feature = "tls")]
pub(crate) mod tls;

use std::future::poll_fn;
use std::mem;
use std::ops::Deref;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use asyncs::task::{Spawn, Task, enter};
use boot_time::Instant;
use futures_lite::future::or;
use futures_util::FutureExt;
use tokio_util::sync::{CancellationToken, DropGuard};
use zookeeper_client as zk;

use crate::change::Mutex;
use crate::error::LockError;

/// A connection of a session, by which requests are sent.
pub(crate) struct Live {
    client: zk::Client,
    /// Cancelled when the connection is over.
    pub(crate) over: CancellationToken,
    /// Counts the connections of the session.
    pub(crate) number: u64,
}

impl Deref for Live {
    type Target = zk::Client;

    fn deref(&self) -> &zk::Client {
        &self.client
    }
}

/// A connection. Its parts are dropped in this order.
pub(crate) struct Connection {
    _over: DropGuard,
    driver: Driver,
    live: Arc<Live>,
    states: zk::StateWatcher,
    /// The address of the server.
    pub(crate) server: String,
    /// The time before the request that opened it.
    pub(crate) begun: Instant,
    /// The time before the request by whose answer the servers confirm it.
    pub(crate) fenced: Instant,
}

type Driver = Pin<Box<dyn Future<Output = ()> + Send>>;

impl Connection {
    /// Connects to one server, and gives the connection this number.
    pub(crate) async fn open(connector: zk::Connector, server: &str, number: u64) -> Result<Self, zk::Error> {
        let (begun, taken) = (Instant::now(), Taken::default());
        let mut connect = pin!(connector.connect(server));
        let client = poll_fn(|context| {
            let _scope = enter(&taken);
            connect.as_mut().poll(context)
        });
        let client = client.await?;
        let (states, over) = (client.state_watcher(), CancellationToken::new());
        let guard = over.clone().drop_guard();
        let live = Arc::new(Live { client, over, number });
        let driver = taken.driver()?;
        Ok(Self { _over: guard, driver, live, states, server: server.to_owned(), begun, fenced: begun })
    }

    pub(crate) fn live(&self) -> &Arc<Live> {
        &self.live
    }

    /// Returns the session timeout that the server has granted.
    pub(crate) fn timeout(&self) -> Duration {
        self.live.session_timeout()
    }

    /// Polls the task of the library until the connection is over. It must be dropped then.
    pub(crate) async fn over(&mut self) {
        let Self { driver, live, states, .. } = self;
        poll_fn(|context| {
            let has_ended = driver.as_mut().poll(context).is_ready();
            let has_changed = states.changed().now_or_never().is_some();
            if has_ended || has_changed || live.state() != zk::SessionState::SyncConnected {
                return Poll::Ready(());
            }
            Poll::Pending
        })
        .await;
    }

    /// Waits for the answer to a request. Returns `None` if the connection is over before, and must be dropped.
    pub(crate) async fn answer<T>(&mut self, request: impl Future<Output = T>) -> Option<T> {
        let mut request = pin!(request);
        tokio::select! {
            biased;
            answer = &mut request => Some(answer),
            () = self.over() => request.now_or_never(),
        }
    }

    /// Closes the session. Returns whether the server has told that it is closed.
    pub(crate) async fn close(self) -> bool {
        let Self { _over, mut driver, live, states, .. } = self;
        // The handles with requests under way follow.
        drop(live);
        let is_closed = poll_fn(|context| {
            let has_ended = driver.as_mut().poll(context).is_ready();
            match states.peek_state() {
                zk::SessionState::SyncConnected if !has_ended => Poll::Pending,
                state => Poll::Ready(state.is_terminated()),
            }
        });
        let is_closed = is_closed.await;
        drop(_over);
        is_closed
    }
}

/// The tasks that the library has started.
#[derive(Default)]
struct Taken(Mutex<Vec<Driver>>);

impl Spawn for Taken {
    fn spawn(&self, task: Task) {
        self.0.lock().push(Pin::from(task.future));
    }
}

impl Taken {
    /// Returns the task of a connection, which is the only one.
    fn driver(self) -> Result<Driver, zk::Error> {
        let mut tasks = mem::take(&mut *self.0.lock());
        match (tasks.pop(), tasks.is_empty()) {
            (Some(driver), true) => Ok(driver),
            _ => Err(zk::Error::UnexpectedError("the client library has not started one task".to_owned())),
        }
    }
}

/// The change that fired a watch, as far as it matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// The watched node was deleted.
    Deleted,
    /// Anything else. The node may have been deleted as well.
    Other,
    /// The connection is over, and the watch with it.
    Disconnected,
}

/// A signal to look at a node or at a list of children again. It belongs to one connection, and fires at its end.
pub(crate) struct Watch(Pin<Box<dyn Future<Output = Change> + Send + Sync>>);

impl Watch {
    /// Returns a watch of the client library, which panics if it is polled after the end of the connection.
    pub(crate) fn of(watcher: zk::OneshotWatcher, connection: &Live) -> Self {
        let disconnected = connection.over.clone().cancelled_owned().map(|()| Change::Disconnected);
        let fired = watcher.changed().map(|event| match event.event_type {
            zk::EventType::NodeDeleted => Change::Deleted,
            _ => Change::Other,
        });
        // Polled in this order.
        Self(Box::pin(or(disconnected, fired)))
    }

    /// Returns a watch that fires when this is done.
    #[cfg(test)]
    pub(crate) fn when(fires: impl Future<Output = ()> + Send + Sync + 'static) -> Self {
        Self(Box::pin(fires.map(|()| Change::Other)))
    }

    /// Waits for the change. After that, it must not be asked again.
    pub(crate) async fn change(&mut self) -> Change {
        (&mut self.0).await
    }

    /// Tells whether the watch has fired. After that, it must not be asked again.
    pub(crate) fn has_fired(&mut self) -> bool {
        (&mut self.0).now_or_never().is_some()
    }
}

/// The reason why no session was opened.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum OpenError {
    /// No session could be opened now. Another attempt may succeed.
    #[error("{0}")]
    Unreachable(String),
    /// The session that was to be kept is over.
    #[error("the session has expired")]
    Expired,
    #[error("the servers refuse the credentials")]
    AuthFailed,
    /// Client and servers do not trust each other's certificates.
    #[cfg(feature = "tls")]
    #[error("{0}")]
    Untrusted(String),
    /// The configuration cannot work.
    #[error(transparent)]
    Invalid(LockError),
}

impl OpenError {
    /// Returns `true` if another attempt cannot succeed.
    pub(crate) fn is_final(&self) -> bool {
        !matches!(self, Self::Unreachable(_) | Self::Expired)
    }
}

impl From<zk::Error> for OpenError {
    fn from(error: zk::Error) -> Self {
        match error {
            zk::Error::AuthFailed => Self::AuthFailed,
            zk::Error::SessionExpired => Self::Expired,
            zk::Error::BadArguments(reason) => {
                Self::Invalid(LockError::InvalidConfig { setting: "connect", reason: (*reason).to_owned() })
            }
            zk::Error::NoHosts => Self::Unreachable("no server accepted the connection".into()),
            zk::Error::Timeout => Self::Unreachable("no server answered".into()),
            other => Self::Unreachable(other.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use futures_util::future::join_all;
    use tokio::time::timeout;
    use zklock_testkit::wire::Opcode;
    use zklock_testkit::{How, Proxy};

    use super::*;
    use crate::client::proxy;

    const LONG: Duration = Duration::from_secs(30);
    const SESSION: Duration = Duration::from_secs(20);
    #[cfg(not(soak))]
    const RECONNECTS: u64 = 100;
    #[cfg(soak)]
    const RECONNECTS: u64 = 1_000;

    async fn open(proxy: &Proxy, known: Option<&zk::SessionInfo>, number: u64) -> Connection {
        let connector = zk::Client::connector().with_session_timeout(SESSION).with_fail_eagerly();
        let connector = match known {
            Some(info) => connector.with_session(info.clone()),
            None => connector,
        };
        timeout(LONG, Connection::open(connector, proxy.connect_string(), number)).await.unwrap().unwrap()
    }

    /// A thread that competes for the processor until it is dropped.
    struct Busy(Arc<AtomicBool>);

    impl Busy {
        fn start() -> Self {
            let goes_on = Arc::new(AtomicBool::new(true));
            let seen = goes_on.clone();
            std::thread::spawn(move || while seen.load(Ordering::Relaxed) {});
            Self(goes_on)
        }
    }

    impl Drop for Busy {
        fn drop(&mut self) {
            self.0.store(false, Ordering::Relaxed);
        }
    }

    #[tokio::test]
    async fn no_connection_is_opened_but_by_us_and_the_session_and_its_nodes_stay() {
        let ((server, proxy), _busy) = (proxy(), Busy::start());
        let mut connection = open(&proxy, None, 1).await;
        let info = connection.live().session().clone();
        let ephemeral = zk::CreateMode::Ephemeral.with_acls(zk::Acls::anyone_all());
        let live = connection.live().clone();
        connection.answer(live.create("/a", b"", &ephemeral)).await.unwrap().unwrap();
        drop(live);
        for number in 1..=RECONNECTS {
            let live = connection.live().clone();
            let (_, _, watcher) = connection.answer(live.get_and_watch_data("/a")).await.unwrap().unwrap();
            let mut watch = Watch::of(watcher, &live);
            let requests = join_all((0..50).map(|_| live.get_data("/a")));
            proxy.cut(How::Rst);
            let over = async {
                timeout(LONG, connection.over()).await.unwrap();
                drop(connection);
            };
            // Each is answered once, or fails once, and none hangs.
            let (answers, ()) = timeout(LONG, futures_util::future::join(requests, over)).await.unwrap();
            assert_eq!(answers.len(), 50);
            assert_eq!(watch.change().await, Change::Disconnected);
            assert_eq!(proxy.requests(Opcode::CREATE_SESSION), number);
            drop(live);
            connection = open(&proxy, Some(&info), number + 1).await;
            assert_eq!(connection.live().session_id(), info.id());
            assert_eq!(server.node("/a").unwrap().ephemeral_owner, info.id().0);
        }
        assert_eq!((server.sessions().len(), proxy.requests(Opcode::CLOSE_SESSION)), (1, 0));
    }

    #[tokio::test]
    async fn a_close_whose_connection_breaks_is_told_from_one_that_was_answered() {
        let (server, proxy) = proxy();
        assert!(timeout(LONG, open(&proxy, None, 1).await.close()).await.unwrap());
        assert!(server.sessions().is_empty());
        let connection = open(&proxy, None, 1).await;
        proxy.on_request(Opcode::CLOSE_SESSION).cut(How::Rst);
        assert!(!timeout(LONG, connection.close()).await.unwrap());
        assert_eq!(proxy.requests(Opcode::CREATE_SESSION), 2);
    }

    #[tokio::test]
    async fn a_watch_of_a_connection_that_is_gone_does_not_panic() {
        let (_server, proxy) = proxy();
        let mut connection = open(&proxy, None, 1).await;
        let live = connection.live().clone();
        let (_, _, watcher) = connection.answer(live.get_and_watch_data("/")).await.unwrap().unwrap();
        let mut watch = Watch::of(watcher, &live);
        assert!(!watch.has_fired());
        drop(connection);
        assert_eq!(watch.change().await, Change::Disconnected);
    }
}

//! Children of `fork(2)`, which have neither the thread nor the locks of their parent.

use std::io::Read;
use std::process::exit;
use std::thread::sleep;
use std::time::{Duration, Instant};

use ::fork::{Fork, fork, waitpid_nohang};
use rustix::process::{Pid, Signal, kill_process};
use tokio::runtime::{Builder, Runtime};
use zklock::{
    Client, Config, Health, LeaderChanges, LeaderLatch, LeaderSelector, Leadership, LeaseState, LockError,
    MutexGuard, WriteGuard,
};

use crate::support::process::{Orders, Process, report};
use crate::support::{SOON, Space};

/// The test that runs in another process, where its case does not matter.
const FORKS: &str = "process::fork::a_fork_is_answered_at_once_and_leaves_locks_to_its_parent";
/// A time that no call of the child needs.
const LONG: Duration = Duration::from_secs(300);

/// Runs itself again in a process that forks.
#[test]
fn a_fork_is_answered_at_once_and_leaves_locks_to_its_parent() {
    if let Some((orders, [])) = Orders::read([]) {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let parent = runtime.block_on(Parent::start(orders));
        return parent.fork(&runtime);
    }
    let mut output = String::new();
    Process::start(FORKS, &Space::new(), []).output().read_to_string(&mut output).unwrap();
    let told: Vec<_> =
        output.lines().filter_map(|line| line.split_once("fork: ")).map(|(_, told)| told).collect();
    let expected = ["the state is told", "27 calls are refused", "all is dropped", "the parent holds"];
    assert_eq!(told, expected, "{output}");
}

struct Parent {
    client: Client,
    guard: MutexGuard,
    inner: MutexGuard,
    released: MutexGuard,
    writer: WriteGuard,
    latch: LeaderLatch,
    changes: LeaderChanges,
    term: Leadership,
    selector: LeaderSelector,
}

impl Parent {
    async fn start(orders: Orders) -> Self {
        let config = Config::new(orders.connect).namespace(orders.namespace).default_wait(LONG);
        let client = config.connect().await.unwrap();
        let guard = client.mutex("/held").unwrap().lock().await.unwrap();
        let inner = guard.scope(client.mutex("/held").unwrap().lock()).await.unwrap();
        let released = client.mutex("/released").unwrap().lock().await.unwrap();
        let writer = client.rwlock("/written").unwrap().write().await.unwrap();
        let latch = client.leader_latch("/led").unwrap();
        let term = latch.leadership().await.unwrap();
        let selector = client.leader_selector("/selected", async |_| {}).unwrap();
        let mut changes = latch.changes();
        assert_eq!(changes.next().await, Some(true));
        assert!(guard.once_per("/tick", LONG).await.unwrap());
        assert!(client.leader("/joined").unwrap().join().await.unwrap());
        Self { client, guard, inner, released, writer, latch, changes, term, selector }
    }

    fn fork(self, runtime: &Runtime) {
        let child = match fork().unwrap() {
            Fork::Child => {
                runtime.block_on(self.ask_as_a_child());
                exit(0);
            }
            Fork::Parent(child) => child,
        };
        let started = Instant::now();
        while waitpid_nohang(child).unwrap().is_none() {
            if started.elapsed() > SOON {
                kill_process(Pid::from_raw(child).unwrap(), Signal::KILL).unwrap();
            }
            sleep(Duration::from_millis(10));
        }
        runtime.block_on(async {
            self.guard.verify().await.unwrap();
            self.released.verify().await.unwrap();
            self.writer.verify().await.unwrap();
            assert!(self.guard.is_held() && self.latch.is_leader() && self.client.readiness().is_ready());
            self.client.mutex("/other").unwrap().lock().await.unwrap().release().await.unwrap();
            report("fork: the parent holds");
        });
    }

    async fn ask_as_a_child(self) {
        let Self { client, guard, inner, released, writer, latch, mut changes, term, selector } = self;
        assert_eq!(client.readiness().to_string(), "the client is shut down");
        assert_eq!((client.health(), client.session_id()), (Health::Lost, None));
        assert!(!guard.is_held() && matches!(guard.state(), LeaseState::Lost(_)));
        assert!(!latch.is_leader() && latch.current().is_none());
        assert!(term.cancellation_token().is_cancelled());
        assert!(!selector.requeue() && selector.last_failure().is_none());
        guard.lost().await;
        assert_eq!((changes.next().await, changes.next().await), (Some(false), None));
        assert!(client.events().next().await.is_none());
        report("fork: the state is told");
        let mut refused = 0;
        let mut is_refused = |outcome: Result<(), LockError>| {
            refused += 1;
            let error = outcome.unwrap_err();
            assert!(matches!(error, LockError::Forked { .. }), "call {refused}: {error}");
        };
        for path in ["/other", "/held"] {
            let mutex = client.mutex(path).unwrap();
            is_refused(mutex.lock().await.map(drop));
            is_refused(mutex.try_lock().await.map(drop));
            is_refused(guard.scope(mutex.lock()).await.map(drop));
            is_refused(client.exclusive(path).unwrap().lock().await.map(drop));
            is_refused(client.rwlock(path).unwrap().read().await.map(drop));
            is_refused(client.semaphore(path, 2).unwrap().acquire().await.map(drop));
            is_refused(client.lock_all([path, "/more"]).await.map(drop));
            is_refused(mutex.participants().await.map(drop));
        }
        let mutex = client.mutex("/held").unwrap();
        is_refused(client.unless_begun(("/tick", LONG), mutex.lock()).await.map(drop));
        is_refused(guard.verify().await);
        is_refused(guard.set_data("/data", "").await);
        is_refused(guard.get("/data").await.map(drop));
        is_refused(guard.run(std::future::pending::<()>()).await);
        is_refused(latch.leadership().await.map(drop));
        is_refused(client.leader("/joined").unwrap().term().await.map(drop));
        is_refused(client.leader("/new").unwrap().join().await.map(drop));
        is_refused(inner.release().await);
        is_refused(released.release().await);
        is_refused(latch.close().await);
        report(&format!("fork: {refused} calls are refused"));
        drop((guard, writer));
        client.shutdown(LONG).await;
        drop(client);
        report("fork: all is dropped");
    }
}

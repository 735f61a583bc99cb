//! kazoo's locks, in a Python process, as newcomers at the paths of zklock.

use std::path::Path;
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::Mutex;

use crate::newcomers::{ATTEMPTS, inside, meet, path_of, read_or_write};
use crate::python::python_with_kazoo;
use crate::record::Record;
use crate::support::{Space, soon};

const NEWCOMER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/interop/newcomer.py");

/// A process of Python with one session. It is killed on drop, and ends when its input does.
struct Kazoo {
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    _child: Child,
}

impl Kazoo {
    async fn start(server: &str) -> Self {
        let mut child = Command::new(python_with_kazoo())
            .args([NEWCOMER, server])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("python runs");
        let input = child.stdin.take().expect("the input is piped");
        let output = BufReader::new(child.stdout.take().expect("the output is piped")).lines();
        let mut kazoo = Self { input, output, _child: child };
        assert_eq!(kazoo.line().await, "ready");
        kazoo
    }

    async fn line(&mut self) -> String {
        soon(self.output.next_line()).await.expect("python writes").expect("python runs")
    }

    /// Takes and releases a lock.
    async fn take(&mut self, mode: &str, path: &str, record: &Path) {
        let order = format!("{mode} {path} {}\n", record.display());
        self.input.write_all(order.as_bytes()).await.expect("python reads");
        assert_eq!(self.line().await, "ok", "{mode} {path}");
    }
}

/// Returns the way in which kazoo comes, to take the lock in each of these modes.
async fn kazoo(space: &Space, modes: &[&str]) -> impl AsyncFn(&str, &Record) {
    let kazoo = Mutex::new(Kazoo::start(space.connect_string()).await);
    async move |path, record| {
        for mode in modes {
            kazoo.lock().await.take(mode, &space.full(path), record.path()).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn newcomers_in_python_take_turns_at_mutexes() {
    let space = Space::new();
    meet(&space, 1, kazoo(&space, &["exclusive"]).await, async |client, path, diary, _| {
        let mutex = client.mutex(path).unwrap().also_behind(["__lock__"]);
        inside(mutex.lock().await.unwrap(), diary, "exclusive").await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn newcomers_in_python_take_turns_at_read_write_locks() {
    let space = Space::new();
    for modes in [["read", "write"], ["write", "read"]] {
        meet(&space, 2, kazoo(&space, &modes).await, async |client, path, diary, turn| {
            let lock = client.rwlock(path).unwrap().also_behind(["__lock__", "__rlock__"]);
            read_or_write(lock, diary, turn).await;
        })
        .await;
    }
}

/// A mutex that waits for none of kazoo's nodes creates a new queue together with its contender.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn newcomers_in_python_wait_for_holders_that_do_not_wait_for_them() {
    let space = Space::new();
    let client = space.client("ours").await;
    let come = kazoo(&space, &["exclusive"]).await;
    for attempt in 0..ATTEMPTS {
        let (path, record) = (path_of(attempt), Record::new());
        let diary = record.diary("rust");
        let guard = client.mutex(&path).unwrap().lock().await.unwrap();
        diary.enter("exclusive");
        let holding = async {
            space.until_queued(&path, 2).await;
            diary.leave("exclusive");
            guard.release().await.unwrap();
        };
        soon(async { tokio::join!(come(&path, &record), holding) }).await;
        assert_eq!(record.check(1).unwrap().len(), 2, "{path}");
    }
}

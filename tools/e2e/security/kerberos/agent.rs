//! A client in a process of its own: this test binary, run again for the test `agent`.

use std::env;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt, BufReader as AsyncBufReader};
use tracing::level_filters::LevelFilter;
use zklock::{Client, Config, Health, LockError, Permission};

use crate::matrix::PATH;
use crate::{SOON, assert_denied, soon, until};

/// The test that runs in the other process.
const TEST: &str = "kerberos::agent::agent";
const SCENE: &str = "ZKLOCK_TEST_SCENE";
const TOLD: &str = "agent: ";
/// Longer than a test may take, so that a process that hangs ends.
const LONGEST: Duration = Duration::from_secs(300);

pub(super) struct Agent(Command);

/// A process that runs a scene. It is killed on drop.
pub(super) struct Running {
    child: Child,
    lines: Receiver<String>,
    seen: Vec<String>,
}

impl Agent {
    pub(super) fn new(scene: &str) -> Self {
        let mut command = Command::new(env::current_exe().unwrap());
        command.args(["--exact", TEST, "--nocapture"]).env(SCENE, scene);
        for name in ["KRB5_CLIENT_KTNAME", "KRB5CCNAME", "KRB5_CONFIG"] {
            command.env_remove(name);
        }
        Self(command)
    }

    pub(super) fn variable(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.0.env(name, value);
        self
    }

    pub(super) fn start(mut self) -> Running {
        let mut child = self.0.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        // A process whose lines nobody reads would stand still.
        thread::spawn(move || output.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        Running { child, lines, seen: Vec::new() }
    }
}

impl Running {
    pub(super) fn told(&mut self) -> String {
        while let Ok(line) = self.lines.recv_timeout(SOON) {
            self.seen.push(line);
            if let Some((_, told)) = self.seen[self.seen.len() - 1].split_once(TOLD) {
                return told.to_owned();
            }
        }
        panic!("the agent tells nothing: {:#?}", self.seen);
    }

    /// Returns all lines, when the process has ended.
    pub(super) fn output(&mut self) -> String {
        self.seen.extend(&self.lines);
        self.seen.join("\n")
    }

    pub(super) fn tell(&mut self, line: &str) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{line}").unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn tell(line: &str) {
    let mut output = std::io::stdout().lock();
    writeln!(output, "{TOLD}{line}").and_then(|()| output.flush()).expect("the parent reads");
}

/// Waits until the parent says something.
async fn wait() {
    let mut line = String::new();
    AsyncBufReader::new(tokio::io::stdin()).read_line(&mut line).await.unwrap();
}

/// Runs the scene of the parent process, if there is one. The tests of the parent depend on its lines.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn agent() {
    let Ok(scene) = env::var(SCENE) else { return };
    thread::spawn(|| {
        thread::sleep(LONGEST);
        std::process::abort();
    });
    tracing_subscriber::fmt().with_ansi(false).with_max_level(LevelFilter::TRACE).init();
    match &*scene {
        "connect" => connect().await,
        "hold" => hold().await,
        "kept out" => kept_out().await,
        "outage" => outage().await,
        other => panic!("{other} is no scene"),
    }
}

fn config() -> Config {
    Config::from_env().unwrap().default_wait(SOON)
}

/// Returns a client with time for a cold server.
async fn client() -> Client {
    config().connect_timeout(SOON).session_timeout(SOON).connect().await.unwrap()
}

async fn connect() {
    let begun = Instant::now();
    match Config::from_env().unwrap().connect().await {
        Ok(_) => tell("connected"),
        Err(error) => {
            let kind = match &error {
                LockError::AuthFailed { .. } => "AuthFailed",
                LockError::Connect { .. } => "Connect",
                _ => "other",
            };
            tell(&format!("{kind} after {} ms: {error}", begun.elapsed().as_millis()));
        }
    }
}

async fn hold() {
    let client = client().await;
    let guard = client.mutex(PATH).unwrap().lock().await.unwrap();
    tell("held");
    wait().await;
    guard.verify().await.unwrap();
    guard.release().await.unwrap();
    tell("released");
}

async fn kept_out() {
    let client = client().await;
    let mutex = client.mutex(PATH).unwrap();
    assert_denied(mutex.lock().await.map(drop), PATH, Permission::Create);
    assert_denied(mutex.try_lock().await.map(drop), PATH, Permission::Create);
    assert_denied(mutex.participants().await, PATH, Permission::Read);
    tell("kept out");
}

/// Tells how long its calls and the news of its loss take, after the connection has broken.
async fn outage() {
    let client = config().connect_timeout(SOON).connect().await.unwrap();
    let guard = client.mutex(PATH).unwrap().lock().await.unwrap();
    tell("held");
    until("the connection breaks", async || client.health() != Health::Connected).await;
    let begun = Instant::now();
    let timed_out = client.mutex("/another").unwrap().lock_timeout(Duration::from_secs(2)).await;
    assert!(timed_out.unwrap_err().is_timeout());
    tell(&format!("timed out after {} ms", begun.elapsed().as_millis()));
    soon(guard.lost()).await;
    tell(&format!("lost after {} ms", begun.elapsed().as_millis()));
    drop(guard);
    let begun = Instant::now();
    client.shutdown(Duration::from_secs(1)).await;
    tell(&format!("shut down after {} ms", begun.elapsed().as_millis()));
}

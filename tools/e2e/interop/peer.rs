//! `Peer.java`: contenders in a Java process that share one session, each on its own thread.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use percent_encoding::percent_decode_str;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use zklock_testkit::Curator;

use crate::soon;

/// A Java process. It is killed on drop. It also ends when its input does, so that it never outlives the
/// process of the tests, even if that is killed.
pub(crate) struct Peer {
    child: Child,
    lines: Lines,
    session_id: i64,
}

/// The input of the process, and the readers of its output.
#[derive(Clone)]
struct Lines {
    input: Arc<Mutex<ChildStdin>>,
    readers: Arc<Mutex<Readers>>,
}

type Readers = HashMap<String, UnboundedSender<Line>>;

enum Line {
    Answer(Result<String, String>),
    Event(String),
}

impl Peer {
    /// Starts the process and waits until it has a session.
    pub(crate) fn start(connect_string: &str, session: Duration) -> Self {
        let curator = Curator::find_or_install().unwrap_or_else(|error| panic!("{error}"));
        let mut child = Command::new(curator.java())
            .args([
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-Xmx256m",
                "-Dorg.slf4j.simpleLogger.defaultLogLevel=off",
            ])
            .arg("-cp")
            .arg(std::env::join_paths(curator.classpath()).expect("the entries come from a class path"))
            .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/interop/Peer.java"))
            .args([connect_string, &session.as_millis().to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("java runs");
        let input = Arc::new(Mutex::new(child.stdin.take().expect("the input is piped")));
        let mut output = BufReader::new(child.stdout.take().expect("the output is piped"));
        let mut ready = String::new();
        // If there is no such line, Java has printed the reason to standard error.
        output.read_line(&mut ready).expect("java writes");
        let session_id = ready.trim().strip_prefix("peer ready ").and_then(|id| id.parse().ok());
        let lines = Lines { input, readers: Arc::default() };
        let to = lines.clone();
        std::thread::spawn(move || to.give_out(output));
        Self { child, lines, session_id: session_id.expect("Peer.java starts") }
    }

    pub(crate) fn session_id(&self) -> Option<i64> {
        Some(self.session_id)
    }

    pub(crate) async fn actor(&self, recipe: &str, full_path: &str) -> Actor {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("java-{}", COUNT.fetch_add(1, Ordering::Relaxed));
        let mut actor = Actor { incoming: self.lines.reader(&name), name, lines: self.lines.clone() };
        actor.ask(&format!("open {recipe} {full_path}")).await;
        actor
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Lines {
    fn reader(&self, name: &str) -> UnboundedReceiver<Line> {
        let (sender, receiver) = unbounded_channel();
        self.readers.lock().unwrap().insert(name.to_owned(), sender);
        receiver
    }

    fn write(&self, line: &str) -> std::io::Result<()> {
        writeln!(self.input.lock().unwrap(), "{line}")
    }

    fn give_out(&self, output: BufReader<ChildStdout>) {
        for line in output.lines().map_while(Result::ok) {
            let mut words = line.splitn(3, ' ');
            let (name, kind, rest) =
                (words.next(), words.next(), words.next().unwrap_or_default().to_owned());
            let line = match kind {
                Some("event") => Line::Event(rest),
                Some("ok") => Line::Answer(Ok(rest)),
                _ => Line::Answer(Err(rest)),
            };
            if let Some(reader) = self.readers.lock().unwrap().get(name.unwrap_or_default()) {
                // A test that has ended does not read the last lines of its actor.
                let _ = reader.send(line);
            }
        }
        // Each reader learns that there are no more lines.
        self.readers.lock().unwrap().clear();
    }
}

/// One contender in a Java process, which follows its orders one by one.
pub(crate) struct Actor {
    name: String,
    incoming: UnboundedReceiver<Line>,
    lines: Lines,
}

impl Actor {
    /// Sends an order without waiting for its answer.
    pub(crate) fn order(&mut self, order: &str) {
        self.lines.write(&format!("{} {order}", self.name)).expect("Peer.java reads");
    }

    /// Returns the answer to the earliest order that has not been answered.
    pub(crate) async fn answer(&mut self) -> String {
        match soon(self.incoming.recv()).await.expect("Peer.java runs") {
            Line::Answer(answer) => answer.unwrap_or_else(|error| panic!("{} failed: {error}", self.name)),
            Line::Event(event) => panic!("{} sent the event `{event}` instead of an answer", self.name),
        }
    }

    pub(crate) async fn ask(&mut self, order: &str) -> String {
        self.order(order);
        self.answer().await
    }

    #[track_caller]
    pub(crate) fn assert_busy(&mut self) {
        assert!(self.incoming.try_recv().is_err(), "{} is no longer busy", self.name);
    }

    pub(crate) async fn event(&mut self) -> String {
        match soon(self.incoming.recv()).await.expect("Peer.java runs") {
            Line::Event(event) => event,
            Line::Answer(answer) => panic!("{} answered `{answer:?}` instead of sending an event", self.name),
        }
    }

    pub(crate) async fn try_acquire(&mut self, mode: &str, within: Duration) -> bool {
        self.ask(&format!("try {mode} {}", within.as_millis())).await == "true"
    }

    /// Returns the nodes that Curator lists, as full paths, each with its data.
    pub(crate) async fn participants(&mut self, mode: &str) -> Vec<(String, String)> {
        let answer = self.ask(&format!("participants {mode}")).await;
        let listed = answer.split_whitespace().map(|one| one.split_once('=').expect("a node and its data"));
        listed.map(|(node, data)| (node.to_owned(), decoded(data))).collect()
    }
}

impl Drop for Actor {
    fn drop(&mut self) {
        // This fails if the process was killed.
        let _ = self.lines.write(&format!("{} end", self.name));
        self.lines.readers.lock().unwrap().remove(&self.name);
    }
}

/// Decodes Java's form encoding.
fn decoded(data: &str) -> String {
    percent_decode_str(&data.replace('+', " ")).decode_utf8_lossy().into_owned()
}

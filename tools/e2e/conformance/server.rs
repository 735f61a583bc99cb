use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use zklock_testkit::wire::{Create, CreateFlags};
use zklock_testkit::{EmbeddedServer, Installation, ZooKeeper};

use crate::client::Client;

pub(crate) use crate::running::{Kind, Server as Running};

impl Kind {
    pub(crate) fn start(self, options: &Options) -> Running {
        match self {
            Self::Real => Running::Real(options.real()),
            Self::Embedded => Running::Embedded(options.embedded()),
        }
    }

    fn shared(self) -> &'static Running {
        static SHARED: [OnceLock<Running>; 2] = [const { OnceLock::new() }; 2];
        SHARED[self as usize].get_or_init(|| self.start(&Options::default()))
    }

    /// Returns the server that all cases of containers and of extras share, which checks its containers all the time.
    fn reaper(self) -> &'static Running {
        static REAPERS: [OnceLock<Running>; 2] = [const { OnceLock::new() }; 2];
        REAPERS[self as usize].get_or_init(|| self.start(&Options::reaper()))
    }
}

/// The tick of the servers, with which sessions may be short enough to wait for their end.
const TICK: Duration = Duration::from_millis(200);

#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) max_buffer: usize,
    pub(crate) container_check_interval: Duration,
    /// Whether it has nodes with a time to live, and the superuser whose password is `admin`.
    pub(crate) has_extras: bool,
}

/// `super:base64(sha1("super:admin"))`, from the documentation of ZooKeeper's access control.
const SUPER_DIGEST: &str = "super:xQJmxLMiHGwaqBvst5y6rkB6HQs=";

impl Default for Options {
    fn default() -> Self {
        Self {
            max_buffer: zklock_testkit::wire::MAX_FRAME,
            container_check_interval: Duration::from_secs(60),
            has_extras: false,
        }
    }
}

impl Options {
    fn reaper() -> Self {
        let container_check_interval = Duration::from_millis(20);
        Self { container_check_interval, has_extras: true, ..Self::default() }
    }

    fn real(&self) -> ZooKeeper {
        let interval = self.container_check_interval.as_millis().to_string();
        let builder = ZooKeeper::builder()
            .tick_time(TICK)
            .min_session_timeout(2 * TICK)
            .max_session_timeout(300 * TICK)
            .system_property("jute.maxbuffer", &self.max_buffer.to_string())
            .system_property("znode.container.checkIntervalMs", &interval);
        if !self.has_extras {
            return builder.start().expect("ZooKeeper starts");
        }
        let builder = builder.system_property("zookeeper.extendedTypesEnabled", "true");
        let builder =
            builder.system_property("zookeeper.DigestAuthenticationProvider.superDigest", SUPER_DIGEST);
        builder.start().expect("ZooKeeper starts")
    }

    fn embedded(&self) -> EmbeddedServer {
        let builder = EmbeddedServer::builder()
            .tick_time(TICK)
            .min_session_timeout(2 * TICK)
            .max_session_timeout(300 * TICK)
            .max_buffer(self.max_buffer)
            .container_check_interval(self.container_check_interval);
        let builder = if self.has_extras { builder.ttl_nodes().super_digest(SUPER_DIGEST) } else { builder };
        builder.start().expect("the embedded server starts")
    }
}

impl Running {
    /// Sets the number that the next sequential child of a node gets. A real server is restarted for this.
    pub(crate) fn set_counter(&self, path: &str, next: i32) {
        match self {
            Self::Real(server) => {
                server.kill().expect("ZooKeeper is killed");
                rewrite_counter(&server.directory().join("data"), path, next);
                server.restart().expect("ZooKeeper restarts");
            }
            Self::Embedded(server) => server.set_counter(path, next).expect("the node is there"),
        }
    }

    pub(crate) async fn client(&self) -> Client {
        Client::open(self.address()).await
    }
}

fn rewrite_counter(data: &Path, path: &str, next: i32) {
    let zookeeper = Installation::find().expect("ZooKeeper was found before");
    let classpath = std::env::join_paths(zookeeper.classpath()).expect("the entries come from a class path");
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/conformance/SetCounter.java");
    let mut java = Command::new(zookeeper.java());
    let output =
        java.arg("-cp").arg(classpath).arg(program).arg(data).arg(path).arg(next.to_string()).output();
    let output = output.expect("java runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// The environment of a case: its own node on a server that other cases use at the same time.
pub(crate) struct Server {
    kind: Kind,
    root: String,
}

impl Server {
    pub(crate) async fn of_case(kind: Kind) -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let root = format!("/c-{}", NEXT.fetch_add(1, Ordering::Relaxed));
        let mut client = kind.shared().client().await;
        client.make(&root).await;
        client.close().await;
        Self { kind, root }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.kind.shared().address()
    }

    pub(crate) async fn client(&self) -> Client {
        self.kind.shared().client().await
    }

    /// Opens a session with a server that deletes containers as soon as it may, and has all extras. The case's
    /// own node is a persistent node there, too.
    pub(crate) async fn reaper_client(&self) -> Client {
        let mut client = self.kind.reaper().client().await;
        // The node exists already if this is not the first client of the case.
        let root = Create::new(&self.root, "", CreateFlags::PERSISTENT);
        let _ = client.create(root).await;
        client
    }

    /// Returns the path of the case's own node, or of a node below it.
    pub(crate) fn path(&self, below: &str) -> String {
        format!("{}{below}", self.root)
    }

    pub(crate) fn own(&self, options: &Options) -> Running {
        self.kind.start(options)
    }
}

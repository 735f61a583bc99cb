//! A PostgreSQL that all tests of this binary share. It ends with the process.

use std::fs;
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tempfile::TempDir;
use tokio_postgres::{Client, Config, NoTls};
use zklock_testkit::{PostgreSql, eventually};

/// A connection to a schema of its own.
pub(super) struct Database {
    pub(super) client: Client,
    schema: String,
}

impl Database {
    pub(super) async fn create() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let schema = format!("test_{}", COUNT.fetch_add(1, Ordering::Relaxed));
        let database = Self::of(schema).await;
        let create = format!("CREATE SCHEMA {}", database.schema);
        database.client.batch_execute(&create).await.expect("a schema is created");
        database
    }

    pub(super) async fn connect(&self) -> Self {
        Self::of(self.schema.clone()).await
    }

    async fn of(schema: String) -> Self {
        let (client, connection) =
            tokio::task::spawn_blocking(server).await.unwrap().connect(NoTls).await.expect("a connection");
        tokio::spawn(connection);
        client.batch_execute(&format!("SET search_path TO {schema}")).await.expect("the path is set");
        Self { client, schema }
    }
}

/// Returns how many connections to this schema wait for a row that another one has changed.
pub(super) async fn blocked(database: &Database) -> i64 {
    let waiting =
        "SELECT count(*) FROM pg_stat_activity WHERE pg_backend_pid() = ANY (pg_blocking_pids(pid))";
    database.client.query_one(waiting, &[]).await.expect("the server answers").get(0)
}

/// Returns the address of the server, which is started first if no test has started it.
fn server() -> Config {
    static SERVER: OnceLock<Server> = OnceLock::new();
    SERVER.get_or_init(Server::start).config()
}

struct Server {
    directory: PathBuf,
    // The script ends the server when this process does, and its standard input with it.
    script: Child,
}

/// Runs a server in a directory until the standard input ends, and removes the directory then.
const SCRIPT: &str = r#"
trap '' HUP INT QUIT TERM PIPE
directory=$1
programs=$2
cd "$directory" || exit
"$programs/initdb" --pgdata=data --auth=trust --username=tests --encoding=UTF8 --no-locale --no-sync >log 2>&1 || exit
(
    trap - HUP INT QUIT TERM PIPE
    exec "$programs/postgres" -D data -k "$directory" -c listen_addresses= -c fsync=off
) </dev/null >>log 2>&1 &
server=$!
# Until it is ready, the server may miss the signal.
until grep -qx 'ready *' data/postmaster.pid 2>/dev/null; do
    kill -0 "$server" 2>/dev/null || exit
    sleep 0.05
done
read -r _
kill -s QUIT "$server"
wait "$server"
cd /
rm -rf -- "$directory"
"#;

impl Server {
    fn start() -> Self {
        let installation = PostgreSql::find_or_install().unwrap_or_else(|error| panic!("{error}"));
        let directory = tempfile::Builder::new().prefix("zklock-postgresql-").tempdir();
        // The script removes the directory, because this value is never dropped.
        let directory = directory.map(TempDir::keep).expect("a directory is created");
        let mut command = Command::new("/bin/sh");
        command.args(["-c", SCRIPT, "postgresql"]).arg(&directory).arg(installation.programs());
        // PostgreSQL refuses to run as root.
        if fs::metadata(&directory).expect("the directory is there").uid() == 0 {
            let (user, group) = unprivileged();
            chown(&directory, Some(user), Some(group)).expect("the directory gets another owner");
            command.uid(user).gid(group);
        }
        // Signals from a terminal are for the tests.
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let server = Self { directory, script: command.spawn().expect("/bin/sh runs") };
        server.until_ready()
    }

    fn until_ready(mut self) -> Self {
        let is_ready = |server: &mut Self| {
            let status = fs::read_to_string(server.directory.join("data/postmaster.pid"));
            let has_ended = server.script.try_wait().expect("the script is a child").is_some();
            let is_ready = status.is_ok_and(|status| status.lines().any(|line| line.trim() == "ready"));
            (is_ready || has_ended).then_some(is_ready)
        };
        if eventually(START_WITHIN, || is_ready(&mut self)) != Some(true) {
            let log = fs::read_to_string(self.directory.join("log")).unwrap_or_default();
            panic!("PostgreSQL did not start in {}:\n{log}", self.directory.display());
        }
        self
    }

    fn config(&self) -> Config {
        let mut config = Config::new();
        config.host_path(&self.directory).user("tests").dbname("postgres");
        config
    }
}

/// Returns the user and the group of the account that Debian's package creates, or else of `nobody`.
fn unprivileged() -> (u32, u32) {
    let accounts = fs::read_to_string("/etc/passwd").expect("the system has accounts");
    let ids = |name: &str| {
        let account = accounts.lines().find(|line| line.split(':').next() == Some(name))?;
        let mut fields = account.split(':').skip(2).map_while(|field| field.parse().ok());
        Some((fields.next()?, fields.next()?))
    };
    ids("postgres").or_else(|| ids("nobody")).expect("the system has an account without privileges")
}

const START_WITHIN: Duration = Duration::from_secs(60);

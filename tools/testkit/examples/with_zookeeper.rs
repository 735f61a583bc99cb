//! Runs a command with a real ZooKeeper server, whose address is in `ZKLOCK_CONNECT`. The server ends with the command.
//!
//! ZooKeeper, Curator, Java, PostgreSQL and promtool are installed first if they are missing and `apt-get` can
//! install them.
//!
//! `cargo run -p zklock-testkit --features real --example with_zookeeper -- COMMAND [ARGUMENT…]`
//!
//! With `--tls` in front of the command, the connection is encrypted, and the server requires a client certificate. The
//! files are in `ZKLOCK_TLS_CA`, `ZKLOCK_TLS_CERTIFICATE` and `ZKLOCK_TLS_KEY`. This needs the feature `tls`.

use std::env;
use std::error::Error;
use std::process::{Command, ExitCode};

use zklock_testkit::{Curator, Installation, PostgreSql, Promtool, ZooKeeper};

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let mut arguments = env::args_os().skip(1).peekable();
    let is_encrypted = arguments.next_if(|argument| argument == "--tls").is_some();
    let command = arguments.next().ok_or("a command is missing")?;
    let (zookeeper, curator) = (Installation::find_or_install()?, Curator::find_or_install()?);
    let (postgresql, promtool) = (PostgreSql::find_or_install()?, Promtool::find_or_install()?);
    eprintln!("ZooKeeper is {:?}, run by {:?}", zookeeper.classpath(), zookeeper.java());
    eprintln!("Curator is {:?}, run by {:?}", curator.classpath(), curator.java());
    eprintln!("PostgreSQL is in {:?}, promtool is {:?}", postgresql.programs(), promtool.program());
    let mut command = Command::new(command);
    command.args(arguments);
    if is_encrypted { encrypted(command) } else { plain(command) }
}

fn plain(mut command: Command) -> Result<ExitCode, Box<dyn Error>> {
    let server = ZooKeeper::start()?;
    run(command.env("ZKLOCK_CONNECT", server.connect_string()))
}

#[cfg(feature = "tls")]
fn encrypted(mut command: Command) -> Result<ExitCode, Box<dyn Error>> {
    use zklock_testkit::{Authority, ClientCertificates, Tls, Validity};

    let authority = Authority::new();
    let tls = Tls::new(&authority).client_certificates(ClientCertificates::Required);
    let server = ZooKeeper::builder().tls(tls).start()?;
    let client = authority.identity(["client"], Validity::Now);
    let directory = tempfile::tempdir()?;
    for (variable, name, text) in [
        ("ZKLOCK_TLS_CA", "ca.pem", authority.certificate_pem()),
        ("ZKLOCK_TLS_CERTIFICATE", "client.pem", client.certificate_pem()),
        ("ZKLOCK_TLS_KEY", "client.key", client.key_pem()),
    ] {
        let file = directory.path().join(name);
        std::fs::write(&file, text)?;
        command.env(variable, file);
    }
    run(command.env("ZKLOCK_CONNECT", server.secure_connect_string()))
}

#[cfg(not(feature = "tls"))]
fn encrypted(_: Command) -> Result<ExitCode, Box<dyn Error>> {
    Err("`--tls` needs the feature `tls`".into())
}

fn run(command: &mut Command) -> Result<ExitCode, Box<dyn Error>> {
    Ok(if command.status()?.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

//! Runs a command with a real ZooKeeper server, whose address is in `ZKLOCK_CONNECT`. The server ends with the command.
//!
//! ZooKeeper, Curator, Java, PostgreSQL, promtool and tmux are installed first if they are missing and `apt-get` can
//! install them.
//!
//! `cargo run -p zklock-testkit --example with_zookeeper -- COMMAND [ARGUMENT…]`

use std::env;
use std::error::Error;
use std::process::{Command, ExitCode};

use zklock_testkit::{Curator, Installation, PostgreSql, Tool, ZooKeeper};

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let mut arguments = env::args_os().skip(1);
    let command = arguments.next().ok_or("a command is missing")?;
    let (zookeeper, curator) = (Installation::find_or_install()?, Curator::find_or_install()?);
    let (postgresql, promtool) = (PostgreSql::find_or_install()?, Tool::Promtool.find_or_install()?);
    let tmux = Tool::Tmux.find_or_install()?;
    eprintln!("ZooKeeper is {:?}, run by {:?}", zookeeper.classpath(), zookeeper.java());
    eprintln!("Curator is {:?}, run by {:?}", curator.classpath(), curator.java());
    eprintln!("PostgreSQL is in {:?}, promtool is {promtool:?}, tmux is {tmux:?}", postgresql.programs());
    let server = ZooKeeper::start()?;
    let status =
        Command::new(command).args(arguments).env("ZKLOCK_CONNECT", server.connect_string()).status()?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

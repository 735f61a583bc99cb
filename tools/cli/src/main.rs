//! The command `zklock`: distributed locks on Apache ZooKeeper in a shell.
//!
//! * [`arguments`], [`connection`]: the command line, and the configuration of the client.
//! * [`exec`], [`lead`]: run a program under a lock, or while this process leads; [`lock`] takes the lock.
//! * [`ls`], [`watch`], [`top`]: the locks and their participants; [`survey`] looks at them, and [`view`] shows them.
//! * [`force`]: takes locks away.
//! * [`doctor`], [`serve`]: look at servers, and run one for development.
//! * [`session`]: one client for the length of a command.
//! * [`program`]: a program that ends before its lock does, and the end of this process.
//! * [`shell`]: completions and manual pages.
//! * [`output`], [`exit`]: the results for people and for programs, and the exit codes.

mod arguments;
mod connection;
mod doctor;
mod exec;
mod exit;
mod force;
mod lead;
mod ls;
mod output;
mod program;
mod serve;
mod session;
mod shell;
mod survey;
mod top;
mod view;
mod watch;

use std::process::ExitCode;

use clap::Parser;

use self::arguments::{Arguments, Command};
use self::exit::{Code, Failure};
use self::force::Means;
use self::output::{Form, Output};
use self::program::End;
use self::session::asking;

fn main() -> ExitCode {
    // The helpers of a program under a lock are this program again.
    if let Some(ended) = program::helper() {
        return ended;
    }
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return refuse(&error),
    };
    let output = Output::new(if arguments.json { Form::Json } else { Form::Text });
    arguments.connection.log(output.log());
    let end = run(arguments, &output).unwrap_or_else(|failure| {
        output.fail(&failure);
        failure.code().into()
    });
    // The messages are written before a signal ends this process.
    drop(output);
    end.reach()
}

/// Prints a wrong command line, or the help that was asked for.
fn refuse(error: &clap::Error) -> ExitCode {
    match error.print() {
        Err(_) => Code::Output.into(),
        Ok(()) if error.use_stderr() => Code::Usage.into(),
        Ok(()) => ExitCode::SUCCESS,
    }
}

fn run(arguments: Arguments, output: &Output) -> Result<End, Failure> {
    let Arguments { connection, command, .. } = arguments;
    let config = || connection.config();
    match command {
        Command::Exec(options) => on_runtime(exec::run(options, config()?, output)),
        Command::Lead(options) => on_runtime(lead::run(options, config()?, output)),
        Command::Ls(options) => {
            on_runtime(asking(config()?, async |client| ls::ls(client, &options, output).await))
        }
        Command::Who(options) => {
            on_runtime(asking(config()?, async |client| ls::who(client, &options, output).await))
        }
        Command::Watch(options) => {
            on_runtime(asking(config()?, async |client| watch::watch(client, &options, output).await))
        }
        Command::Top(options) => {
            on_runtime(asking(config()?, async |client| top::top(client, &options, output).await))
        }
        Command::Revoke(options) => on_runtime(force::run(config()?, &options, Means::Revoke, output)),
        Command::Break(options) => on_runtime(force::run(config()?, &options, Means::Break, output)),
        Command::Resign(options) => on_runtime(force::run(config()?, &options, Means::Resign, output)),
        Command::Doctor => on_runtime(doctor::doctor(connection.settings()?, output)),
        Command::Serve(options) => on_runtime(serve::serve(options, output)),
        Command::Completions { shell } => on_runtime(shell::completions(shell, output)),
        Command::Man { directory } => on_runtime(shell::manual(directory.as_deref(), output)),
    }
}

/// Runs a command on this thread, which is also the thread that starts programs: the kernel ends a program together
/// with the thread that started it.
fn on_runtime<T: Into<End>>(command: impl Future<Output = Result<T, Failure>>) -> Result<End, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::new(Code::Failed, format!("cannot start: {error}")))?;
    let ended = runtime.block_on(command);
    // A thread that resolves a name may wait for the resolver for long.
    runtime.shutdown_background();
    ended.map(T::into)
}

//! The program of a benchmark: its arguments, and the end of its process.

use std::error::Error;
use std::process::ExitCode;

use clap::Parser;

/// The reason why a benchmark has no result.
pub(crate) type Failure = Box<dyn Error + Send + Sync>;

/// Runs a benchmark with the options of the command line.
pub(crate) fn run<O: Parser>(measure: impl FnOnce(O) -> Result<(), Failure>) -> ExitCode {
    let mut command = O::command();
    // `cargo test --benches` runs this program too, without arguments.
    if std::env::args_os().len() == 1 {
        println!("{}", command.render_usage());
        return ExitCode::SUCCESS;
    }
    match measure(O::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}: {error}", command.get_name());
            ExitCode::FAILURE
        }
    }
}

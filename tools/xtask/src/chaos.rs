//! The campaign of random faults.

use crate::step::{Outcome, cargo, root};

/// The options of the campaign itself; `--help` shows them.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    campaign: Vec<String>,
}

/// Builds the campaign and runs it with these options, in the terminal of this program.
pub(crate) fn run(options: &Options) -> Outcome {
    let mut command = cargo();
    command.args(["run", "--locked", "--quiet", "--package", "zklock-chaos", "--"]);
    let status = command.args(&options.campaign).current_dir(root()).status()?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("the campaign failed: {status}").into()),
    }
}

//! Completions for shells, and manual pages.

use std::path::Path;

use clap::CommandFactory;
use clap_complete::Shell;
use serde_json::json;

use crate::arguments::Arguments;
use crate::exit::{Code, Failure};
use crate::output::{Form, Output, written};

/// Prints the completions for a shell.
pub(crate) async fn completions(shell: Shell, output: &Output) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "zklock", &mut script);
    let text = String::from_utf8_lossy(&script);
    output.result(&text, &json!({"shell": shell.to_string(), "script": text})).await
}

/// Prints the manual page, or writes that of each command into a directory.
pub(crate) async fn manual(directory: Option<&Path>, output: &Output) -> Result<(), Failure> {
    let command = Arguments::command();
    match directory {
        Some(directory) => {
            let outcome = clap_mangen::generate_to(command, directory);
            let unwritten = |error| format!("cannot write to {}: {error}", directory.display());
            outcome.map_err(|error| Failure::new(Code::Output, unwritten(error)))
        }
        None => {
            let mut page = Vec::new();
            clap_mangen::Man::new(command).render(&mut page).map_err(Failure::system("render the page"))?;
            match output.form() {
                Form::Text => written(page).await,
                Form::Json => output.result("", &json!({"page": String::from_utf8_lossy(&page)})).await,
            }
        }
    }
}

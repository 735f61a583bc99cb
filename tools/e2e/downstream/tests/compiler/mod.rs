//! The compiler, with the libraries that cargo has built for a test. Uses only `portable`.

mod portable;

use std::collections::BTreeSet;
use std::env::var_os;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Deserializer, Value};

/// The crates that a case can name. Cargo builds each of them in one version only.
const CRATES: [&str; 2] = ["tokio", "zklock"];
/// Messages name files as the command line does, which is relative to the package.
const PACKAGE: &str = env!("CARGO_MANIFEST_DIR");
/// A directory for files of tests, right below the target directory.
const SCRATCH: &str = env!("CARGO_TARGET_TMPDIR");

pub(crate) struct Compiler {
    /// The arguments that name the libraries.
    libraries: BTreeSet<String>,
}

impl Compiler {
    /// Asks cargo for the libraries of a test. The test is running, so cargo has built them and does not build again.
    pub(crate) fn with_libraries_of(test: &str) -> Self {
        let mut cargo = Command::new(var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.args(["test", "--test", test, "--no-run", "--locked"]);
        cargo.args((!cfg!(debug_assertions)).then_some("--release"));
        // A relative `CARGO_TARGET_DIR` is relative to a directory that this test does not know.
        cargo.arg("--target-dir").args(Path::new(SCRATCH).parent());
        let output = run(cargo.arg("--message-format=json-render-diagnostics"));
        assert!(output.status.success(), "{cargo:?}: {}", text(&output.stderr));
        Self { libraries: json(&output.stdout).iter().flat_map(arguments).collect() }
    }

    /// Compiles a file with mistakes, and returns the messages as they are on each machine.
    pub(crate) fn messages(&self, case: &Path) -> String {
        let output = self.compile(case);
        match output.status.code() {
            Some(0) => panic!("{} compiles without an error", case.display()),
            Some(1) => {}
            _ => panic!("{}: {}: {}", case.display(), output.status, text(&output.stderr)),
        }
        let mut messages = json(&output.stderr);
        messages.retain(|message| !is_summary(message));
        let rendered = messages.iter().filter_map(|message| message["rendered"].as_str());
        rendered.map(portable::portable).collect::<Vec<_>>().join("\n\n") + "\n"
    }

    fn compile(&self, case: &Path) -> Output {
        let mut rustc = Command::new(var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
        rustc.args(["--edition=2024", "--emit=metadata", "--out-dir", SCRATCH, "-Adead_code"]);
        // Without a width, messages are as wide as the terminal.
        rustc.args(["--error-format=json", "--diagnostic-width=140"]);
        run(rustc.args(&self.libraries).arg(case))
    }
}

/// Returns the arguments that name the libraries of one of cargo's messages (*External tools* in the Cargo book).
fn arguments(message: &Value) -> Vec<String> {
    let name = message["target"]["name"].as_str().unwrap_or_default();
    let files = message["filenames"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let mut arguments = Vec::new();
    for file in files {
        let directory = Path::new(file).parent().unwrap_or(Path::new(file));
        arguments.push(format!("-Ldependency={}", directory.display()));
        if CRATES.contains(&name) && file.ends_with(".rlib") {
            arguments.push(format!("--extern={name}={file}"));
        }
    }
    arguments
}

/// Recognizes the count of the errors, and the offer to explain them.
fn is_summary(message: &Value) -> bool {
    let is_count = |text: &str| text.starts_with("aborting due to");
    message["level"] == "failure-note" || message["message"].as_str().is_some_and(is_count)
}

fn run(command: &mut Command) -> Output {
    command.current_dir(PACKAGE).output().unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

fn json(output: &[u8]) -> Vec<Value> {
    let values: Result<_, _> = Deserializer::from_slice(output).into_iter().collect();
    values.unwrap_or_else(|error| panic!("{error}: {}", text(output)))
}

fn text(output: &[u8]) -> String {
    String::from_utf8_lossy(output).into_owned()
}

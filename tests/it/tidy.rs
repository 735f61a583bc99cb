//! What ARCHITECTURE.md says is absent, is.

use std::fs;
use std::path::{Path, PathBuf};

fn sources(folder: &str) -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    let mut open = vec![root.join(folder)];
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            found.push((path.strip_prefix(root).unwrap().to_owned(), text));
        }
    }
    assert!(!found.is_empty(), "no sources below {folder}");
    found
}

/// The code of a file, without comments and without what stands below its tests' heading.
fn code(text: &str) -> impl Iterator<Item = &str> {
    let tests = text.find("#[cfg(test)]\nmod tests").unwrap_or(text.len());
    text[..tests].lines().filter(|line| !line.trim_start().starts_with("//"))
}

#[test]
fn the_queue_knows_neither_a_runtime_nor_a_client_nor_a_clock() {
    let banned = [
        "tokio",
        "zookeeper_client",
        "async ",
        ".await",
        "Instant",
        "SystemTime",
        "std::time",
        "new_v4",
        "rand",
    ];
    for (path, text) in sources("zklock-core/src/queue") {
        // The simulation is a test, whose server must be told a time.
        let banned = if path.ends_with("sim/server.rs") { &[][..] } else { &banned };
        for word in banned {
            assert!(!code(&text).any(|line| line.contains(word)), "{} names {word:?}", path.display());
        }
    }
}

#[test]
fn only_the_session_speaks_to_the_client_library() {
    for (path, text) in sources("zklock-core/src") {
        let allowed = path.starts_with("zklock-core/src/session") || path.ends_with("session.rs");
        let names_it = code(&text).any(|line| line.contains("zookeeper_client"));
        assert!(allowed || !names_it, "{} names zookeeper_client", path.display());
    }
}

#[test]
fn the_core_has_no_process_wide_state() {
    for (path, text) in sources("zklock-core/src") {
        let is_static = |line: &&str| line.trim_start().trim_start_matches("pub ").starts_with("static ");
        for line in code(&text).filter(is_static) {
            // A task-local belongs to a future and not to the process.
            let is_task_local = path.ends_with("hold.rs") && line.contains("static SCOPE");
            assert!(is_task_local, "{}: {line}", path.display());
        }
    }
}

#[test]
fn files_are_short_without_their_tests() {
    for folder in ["src", "zklock-core/src", "zklock-macros/src", "zklock-testkit/src", "xtask/src"] {
        for (path, text) in sources(folder) {
            let tests = text.find("#[cfg(test)]\nmod tests").unwrap_or(text.len());
            let lines = text[..tests].lines().count();
            let is_test = path.ends_with("sim.rs");
            assert!(is_test || lines <= 300, "{} has {lines} lines", path.display());
        }
    }
}

/// The tests that the tables of `tests/README.md` name, as `module::name`.
fn named_in_tables() -> Vec<String> {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/README.md")).unwrap();
    let rows = text.lines().filter(|line| line.starts_with('|'));
    // Every other piece between backticks is code.
    let code = rows.flat_map(|row| row.split('`').skip(1).step_by(2));
    let is_name = |code: &&str| {
        let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
        code.contains("::") && code.chars().all(is_part)
    };
    code.filter(is_name).map(str::to_owned).collect()
}

#[test]
fn every_test_that_the_tables_name_exists() {
    let folders = ["tests/it", "zklock-core/src"];
    let sources: Vec<_> = folders.into_iter().flat_map(sources).collect();
    let named = named_in_tables();
    assert!(named.len() > 100, "the tables name only {} tests", named.len());
    for test in named {
        let (module, name) = test.rsplit_once("::").unwrap();
        let (file, function) = (module.replace("::", "/"), format!("fn {name}("));
        let places = folders.map(|folder| Path::new(folder).join(&file).with_extension("rs"));
        let is_there = |(path, text): &(PathBuf, String)| places.contains(path) && text.contains(&function);
        assert!(sources.iter().any(is_there), "there is no test {test}");
    }
}

//! Checks the structure of the core, and that the documents have everything that users set and see.

mod documents;
mod imports;
mod runbook;

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn sources(folder: &str) -> Vec<(PathBuf, String)> {
    let root = root();
    let mut found = Vec::new();
    let mut open = vec![root.join(folder)];
    while let Some(path) = open.pop() {
        if path.is_dir() {
            // A crate outside the workspace builds into its own folder.
            if path.ends_with("target") {
                continue;
            }
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
    let banned =
        ["tokio", "zookeeper_client", "async ", ".await", "Instant", "Time", "time::", "new_v4", "rand"];
    for (path, text) in sources("zklock-core/src/queue") {
        // The simulation is a test, whose server must be told a time.
        let banned = if path.ends_with("sim/server.rs") { &[][..] } else { &banned };
        for word in banned {
            assert!(!code(&text).any(|line| line.contains(word)), "{} names {word:?}", path.display());
        }
    }
}

#[test]
fn only_the_session_and_its_connections_speak_to_the_client_library() {
    for (path, text) in sources("zklock-core/src") {
        let own = path.strip_prefix("zklock-core/src").unwrap().with_extension("");
        let allowed = own.starts_with("session") || own.starts_with("connection");
        let names_it = code(&text).any(|line| line.contains("zookeeper_client"));
        assert!(allowed || !names_it, "{} names zookeeper_client", path.display());
    }
}

#[test]
fn only_permits_make_the_guards_of_writes_under_leases() {
    // The constructors of the guards, and the files that may name them besides the guards' own.
    let makers = [("checking", "zklock-core/src/lease/share.rs"), ("none", "zklock-core/src/once.rs")];
    let own = Path::new("zklock-core/src/session/requests/data.rs");
    for (maker, user) in makers {
        let call = format!("Guards::{maker}(");
        let sources = sources("zklock-core/src");
        let names_it = |(_, text): &&(PathBuf, String)| code(text).any(|line| line.contains(&call));
        let users: Vec<_> = sources.iter().filter(names_it).map(|(path, _)| path).collect();
        assert_eq!(users, [Path::new(user)], "the files that call {call}…)");
        let (_, text) = sources.iter().find(|(path, _)| path == own).expect("the guards' own file");
        assert!(code(text).any(|line| line.contains(&format!("pub(crate) fn {maker}("))), "no {maker}");
    }
    // A field that others see, or another constructor, would be a way around the permits.
    let text = fs::read_to_string(root().join(own)).unwrap();
    let fields = "#[derive(Debug)]\npub(crate) struct Guards(Vec<Arc<str>>);";
    assert!(text.contains(fields), "the guards' fields");
    let body = text.split("impl Guards {").nth(1).and_then(|rest| rest.split("\n}\n").next()).unwrap();
    assert_eq!(body.matches("-> Self").count(), makers.len(), "the guards' constructors");
}

/// Tells whether the module of this file is declared for tests only.
fn is_for_tests(path: &Path) -> bool {
    let (room, name) = (path.parent().unwrap(), path.file_stem().unwrap().to_str().unwrap());
    let parent = fs::read_to_string(root().join(room).with_extension("rs")).unwrap_or_default();
    ["", "pub(crate) "].iter().any(|seen| parent.contains(&format!("#[cfg(test)]\n{seen}mod {name};")))
}

#[test]
fn the_core_has_no_process_wide_state() {
    for (path, text) in sources("zklock-core/src").into_iter().filter(|(path, _)| !is_for_tests(path)) {
        let is_static = |line: &&str| line.trim_start().trim_start_matches("pub ").starts_with("static ");
        for line in code(&text).filter(is_static) {
            // It has the holds of the future that a thread polls, and none between two polls.
            let is_scope = path.ends_with("hold/scope.rs") && line.contains("static SCOPE");
            assert!(is_scope, "{}: {line}", path.display());
        }
    }
}

fn document(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap()
}

fn chapters() -> Vec<String> {
    let entries = fs::read_dir(root().join("docs/guide")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut chapters: Vec<_> = names.map(|name| format!("docs/guide/{name}")).collect();
    chapters.sort();
    chapters
}

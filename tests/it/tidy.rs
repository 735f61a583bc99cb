//! Checks the structure of the core, and that the documents have everything that users set and see.

mod documents;
mod imports;
mod runbook;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use self::imports::{Arrow, Crate, circles};

/// The root of the workspace.
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
    assert!(
        text.contains("#[derive(Debug)]\npub(crate) struct Guards(Vec<Arc<str>>);"),
        "the guards' fields"
    );
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

/// The paths of the chapters of the guide.
fn chapters() -> Vec<String> {
    let entries = fs::read_dir(root().join("docs/guide")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut chapters: Vec<_> = names.map(|name| format!("docs/guide/{name}")).collect();
    chapters.sort();
    chapters
}

#[test]
fn no_file_of_the_core_is_part_of_an_import_cycle() {
    let folder = "zklock-core/src";
    let relative = |(path, text): (PathBuf, String)| (path.strip_prefix(folder).unwrap().to_owned(), text);
    let arrows = Crate::new(sources(folder).into_iter().map(relative)).arrows();
    assert!(arrows.len() > 100, "only {} imports are found", arrows.len());
    let circles = circles(&arrows);
    assert!(circles.is_empty(), "imports in a cycle:\n{}", listed(&circles));
}

fn listed(arrows: &[Arrow]) -> String {
    let line = |arrow: &Arrow| format!("  {} -> {}\n", arrow.from.join("::"), arrow.to.join("::"));
    arrows.iter().map(line).collect()
}

fn small_crate(files: &[(&str, &str)]) -> BTreeSet<Arrow> {
    Crate::new(files.iter().map(|(path, text)| (path.into(), (*text).to_owned()))).arrows()
}

#[test]
fn a_circle_is_found_whatever_form_its_paths_have() {
    let leaf = ("b.rs", "pub fn b() {}");
    let forms = [
        "use crate::a::{self, A};",
        "use super::a::A as Other;",
        "fn b() { crate::a::a() }",
        "fn b(_: Option<super::a::A>) {}",
        "fn b() -> impl Sized + use<> { crate::a::a() }",
        "fn b() { ..crate::a::LENGTH }",
        "use crate::a; fn b() { a::a() }",
        "macro!(crate::a::A);",
    ];
    for form in forms {
        let arrows =
            small_crate(&[("lib.rs", "mod a; mod b;"), ("a.rs", "use crate::b::b;"), ("b.rs", form)]);
        assert_eq!(circles(&arrows).len(), 2, "{form}");
    }
    let arrows = small_crate(&[("lib.rs", "mod a; mod b;"), ("a.rs", "use crate::b::b;"), leaf]);
    assert_eq!((arrows.len(), circles(&arrows).len()), (1, 0));
}

#[test]
fn a_circle_through_a_reexport_or_between_parent_and_child_is_found() {
    let reexport = [
        ("lib.rs", "mod a; mod b;"),
        ("a.rs", "mod inner; pub use self::inner::A;"),
        ("a/inner.rs", "use crate::b::b; pub struct A;"),
        ("b.rs", "use crate::a::A;"),
    ];
    assert_eq!(circles(&small_crate(&reexport)).len(), 2);
    let family =
        [("a.rs", "mod inner; fn a() { inner::b() }"), ("a/inner.rs", "use super::a; pub fn b() {}")];
    assert_eq!(circles(&small_crate(&family)).len(), 2);
    let contents = [("a.rs", "mod inner; pub use self::inner::b;"), ("a/inner.rs", "use super::a;")];
    assert_eq!(circles(&small_crate(&contents)).len(), 0);
}

#[test]
fn a_reexport_that_the_file_uses_itself_and_a_method_of_a_room_above_are_found() {
    let used =
        [("a.rs", "pub use self::inner::B; fn a(_: B) {}"), ("a/inner.rs", "use super::a; pub struct B;")];
    assert_eq!(circles(&small_crate(&used)).len(), 2);
    let method = [
        ("client.rs", "pub struct Client; impl Client { fn a(&self) { self.mutex(1) } }"),
        ("mutex.rs", "use crate::client::Client; impl Client { pub fn mutex(&self, _: u8) {} }"),
    ];
    assert_eq!(circles(&small_crate(&method)).len(), 2);
}

#[test]
fn tests_comments_and_texts_make_no_arrows() {
    let text = "//! See [`crate::b`].\nconst A: &str = \"crate::b::b\";\n#[cfg(test)]\nmod tests { use crate::b::b; }";
    assert_eq!(small_crate(&[("a.rs", text), ("b.rs", "")]).len(), 0);
}

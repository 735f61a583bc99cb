//! Checks the structure that ARCHITECTURE.md describes, and the prose.

mod documents;
mod floors;
mod imports;
mod prose;
mod runbook;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use self::floors::Floors;
use self::imports::{Arrow, Crate, circles};

/// The folders of the crates whose floors ARCHITECTURE.md lists.
const CRATES: [&str; 7] = [
    "src",
    "zklock-core/src",
    "zklock-macros/src",
    "zklock-testkit/src",
    "zklock-cli/src",
    "chaos/src",
    "xtask/src",
];
/// Further folders with a root module.
const ROOTS: [&str; 8] = [
    "tests/it",
    "tests/metrics",
    "tests/interop",
    "tests/conformance",
    "tests/downstream/src",
    "tests/downstream/lints/src",
    "zklock-cli/tests/cli",
    "zklock-testkit/tests/decoder",
];
/// The documents whose prose is checked.
const DOCUMENTS: [&str; 19] = [
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "benches/README.md",
    "doc/fencing.md",
    "docs/operations/README.md",
    "docs/safety.md",
    "docs/speed.md",
    "docs/upstream.md",
    "examples/README.md",
    "tests/README.md",
    "zklock-cli/README.md",
    "zklock-core/README.md",
    "zklock-macros/README.md",
    "zklock-macros/doc/distributed_lock.md",
    "zklock-macros/doc/leader_only.md",
    "zklock-macros/doc/test.md",
    "zklock-testkit/README.md",
];

/// The root of the workspace.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the tests are a member of a workspace")
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
    let makers =
        [("checking", "zklock-core/src/lease/permit.rs"), ("none", "zklock-core/src/once/attempt.rs")];
    let own = Path::new("zklock-core/src/session/ops/data.rs");
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

#[test]
fn files_are_short_with_their_tests() {
    for folder in CRATES {
        for (path, text) in sources(folder) {
            let lines = text.lines().count();
            let is_test = path.ends_with("sim.rs");
            assert!(is_test || lines <= 600, "{} has {lines} lines", path.display());
        }
    }
}

fn read_crate(folder: &str) -> Crate {
    let relative = |(path, text): (PathBuf, String)| (path.strip_prefix(folder).unwrap().to_owned(), text);
    Crate::new(sources(folder).into_iter().map(relative))
}

fn document(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap()
}

/// The paths of the chapters of the guide.
fn chapters() -> Vec<String> {
    let entries = fs::read_dir(root().join("doc/guide")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut chapters: Vec<_> = names.map(|name| format!("doc/guide/{name}")).collect();
    chapters.sort();
    chapters
}

#[test]
fn no_file_is_part_of_an_import_circle() {
    for folder in CRATES.into_iter().chain(ROOTS) {
        let arrows = read_crate(folder).arrows();
        assert!(ROOTS.contains(&folder) || arrows.len() > 2, "{folder} has only {} arrows", arrows.len());
        let circles = circles(&arrows);
        assert!(circles.is_empty(), "circles in {folder}:\n{}", listed(&circles));
    }
}

#[test]
fn every_arrow_between_rooms_goes_down_the_floors() {
    let architecture = document("ARCHITECTURE.md");
    for folder in CRATES {
        let (floors, code) = (Floors::read(&architecture, folder), read_crate(folder));
        let on_floors: BTreeSet<_> = floors.rooms().cloned().collect();
        let there: BTreeSet<_> = code.modules().filter_map(|module| module.first().cloned()).collect();
        assert_eq!(
            on_floors, there,
            "the rooms of {folder} that ARCHITECTURE.md lists, and those that there are"
        );
        let arrows = code.arrows();
        let rising: Vec<_> = floors.rising(&arrows).into_iter().cloned().collect();
        assert!(rising.is_empty(), "arrows in {folder} that do not go down:\n{}", listed(&rising));
    }
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
fn every_folder_with_a_root_is_a_test() {
    let manifest = document("tests/Cargo.toml");
    for entry in fs::read_dir(root().join("tests")).unwrap() {
        let path = entry.unwrap().path();
        let main = format!("{}/main.rs", path.file_name().unwrap().to_string_lossy());
        let is_named = manifest.contains(&format!("path = {main:?}"));
        assert_eq!(path.join("main.rs").exists(), is_named, "{main} in tests/Cargo.toml");
    }
}

#[test]
fn tests_comments_and_texts_make_no_arrows() {
    let text = "//! See [`crate::b`].\nconst A: &str = \"crate::b::b\";\n#[cfg(test)]\nmod tests { use crate::b::b; }";
    assert_eq!(small_crate(&[("a.rs", text), ("b.rs", "")]).len(), 0);
}

#[test]
fn an_arrow_that_does_not_go_down_is_found() {
    let architecture = "* `src/` - the crate:\n  * `top` — above\n  * `left`, `right` — side by side\n";
    let floors = Floors::read(architecture, "src");
    let files = |right| [("top.rs", "use crate::left::x;"), ("left.rs", "mod part;"), ("right.rs", right)];
    let rising = |right| floors.rising(&small_crate(&files(right))).len();
    assert_eq!([rising(""), rising("use crate::top;"), rising("use crate::left;")], [0, 1, 1]);
}

#[test]
fn sentences_begin_with_the_thing_that_they_are_about() {
    let folders = ["src", "tests", "benches", "chaos", "examples", "xtask"];
    let crates = ["zklock-cli", "zklock-core", "zklock-macros", "zklock-testkit"];
    let code = folders.into_iter().chain(crates).flat_map(sources).map(|(path, text)| (path, text, false));
    let names = DOCUMENTS.map(str::to_owned).into_iter().chain(chapters());
    let documents = names.map(|name| (PathBuf::from(&name), document(&name), true));
    for (path, text, is_document) in code.chain(documents) {
        let found = prose::questions_without_a_mark(&text, is_document);
        assert!(found.is_empty(), "{}: {found:#?}", path.display());
    }
}

#[test]
fn a_sentence_that_begins_with_a_question_word_is_found_unless_it_is_a_question() {
    let text = "/// What it is. It is this: who knows\n/// more?\n// Nobody\n// waits.\nlet x = 1; // Who\n";
    assert_eq!(prose::questions_without_a_mark(text, false), ["What it is.", "Nobody waits."]);
    let text = "* Who reads\n* a list\n\nWhat for?\n";
    assert_eq!(prose::questions_without_a_mark(text, true), ["* Who reads"]);
}

/// The tests that the tables of `tests/README.md` and `docs/upstream.md` name, as `module::name`.
fn named_in_tables() -> Vec<String> {
    let (tests, upstream) = (document("tests/README.md"), document("docs/upstream.md"));
    let rows = tests.lines().filter(|line| line.starts_with('|'));
    let rows = rows.chain(upstream.lines().filter(|line| line.starts_with("| test |")));
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

//! Finds the files of a crate that name each other in a cycle.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::{code, is_for_tests, sources};

/// The place of a file among the modules of its crate, such as `["session", "drive"]`; empty for the root.
type Module = Vec<String>;
type Import = (Module, Module);

fn module(path: &Path) -> Module {
    let parts = path.with_extension("");
    let parts = parts.iter().map(|part| part.to_str().unwrap().to_owned());
    parts.filter(|part| part != "lib").collect()
}

/// Returns the paths of an import, such as `a::b` and `a::c` of `a::{b, c}`.
fn leaves(tree: &str) -> Vec<String> {
    let Some((prefix, inside)) = tree.split_once('{') else { return vec![tree.to_owned()] };
    let (mut depth, mut items) = (0, vec![String::new()]);
    for mark in inside.chars() {
        depth += i32::from(mark == '{') - i32::from(mark == '}');
        match mark {
            ',' if depth == 0 => items.push(String::new()),
            _ if depth >= 0 => items.last_mut().unwrap().push(mark),
            _ => {}
        }
    }
    items.iter().flat_map(|item| leaves(item)).map(|leaf| format!("{prefix}{leaf}")).collect()
}

/// Returns the imports of a file that others may use, and the other paths that it names, from the crate's root.
fn paths(own: &Module, text: &str) -> (Vec<Module>, Vec<Module>) {
    let (mut reexports, mut named) = (Vec::new(), Vec::new());
    let text = code(text).collect::<Vec<_>>().join("\n");
    for statement in text.split(';') {
        let line_before = |at: usize| statement[..at].rsplit('\n').next().unwrap().trim();
        let is_import = |at: &usize| line_before(*at).is_empty() || line_before(*at).starts_with("pub");
        let mut before = statement;
        if let Some(at) = statement.rfind("use ").filter(is_import) {
            let tree: String = statement[at + 4..].split_whitespace().collect();
            let found = leaves(&tree).into_iter().filter_map(|leaf| resolved(own, &leaf));
            if line_before(at).is_empty() {
                named.extend(found)
            } else {
                reexports.extend(found)
            }
            before = &statement[..at];
        }
        // A path in a text keeps its quotes, and names nothing.
        let is_of_path = |mark: char| mark.is_alphanumeric() || matches!(mark, '_' | ':' | '"');
        named.extend(before.split(|mark| !is_of_path(mark)).filter_map(|word| resolved(own, word)));
    }
    (reexports, named)
}

/// Returns the path from the crate's root, of one that does not begin in another crate.
fn resolved(own: &Module, path: &str) -> Option<Module> {
    if !path.contains("::") {
        return None;
    }
    let mut base = own.clone();
    let mut parts = path.split("::").filter(|part| !part.is_empty()).peekable();
    while let Some(part) = parts.next_if(|part| matches!(*part, "crate" | "self" | "super")) {
        match part {
            "crate" => base.clear(),
            "super" => drop(base.pop()),
            _ => {}
        }
    }
    base.extend(parts.filter(|part| *part != "self").map(str::to_owned));
    Some(base)
}

/// Returns which files of a crate name which others. One that names an item names the file that defines it, too.
fn imports(files: &[(Module, String)]) -> BTreeSet<Import> {
    let paths: BTreeMap<_, _> = files.iter().map(|(own, text)| (own, paths(own, text))).collect();
    let file_of =
        |path: &[String]| (0..=path.len()).rev().find(|len| paths.contains_key(&path[..*len].to_vec()));
    let mut found = BTreeSet::new();
    for (own, (_, named)) in &paths {
        let mut open = named.clone();
        while let Some(path) = open.pop() {
            let len = file_of(&path).expect("the root is a file");
            let file = path[..len].to_vec();
            if let Some(item) = path.get(len) {
                let (reexports, _) = &paths[&file];
                open.extend(reexports.iter().filter(|of| of.last() == Some(item) && **of != path).cloned());
            }
            if file != **own {
                found.insert(((*own).clone(), file));
            }
        }
    }
    found
}

fn in_cycles(imports: &BTreeSet<Import>) -> Vec<&Import> {
    let reaches = |from: &Module, to: &Module| {
        let (mut open, mut seen) = (vec![from], BTreeSet::new());
        while let Some(at) = open.pop() {
            if seen.insert(at) {
                open.extend(imports.iter().filter(|(from, _)| from == at).map(|(_, to)| to));
            }
        }
        seen.contains(to)
    };
    imports.iter().filter(|(from, to)| reaches(to, from)).collect()
}

#[test]
fn no_file_of_the_core_is_part_of_an_import_cycle() {
    let sources = sources("zklock-core/src").into_iter().filter(|(path, _)| !is_for_tests(path));
    let own = |path: &Path| module(path.strip_prefix("zklock-core/src").unwrap());
    let imports = imports(&sources.map(|(path, text)| (own(&path), text)).collect::<Vec<_>>());
    assert!(imports.len() > 100, "only {} imports are found", imports.len());
    let cycles = in_cycles(&imports);
    assert!(cycles.is_empty(), "imports in a cycle: {cycles:#?}");
}

#[test]
fn cycle_is_found_whatever_form_its_paths_have() {
    let cycles = |a: &str, b: &str, inner: &str| {
        let files = [("lib", ""), ("a", a), ("b", b), ("b/inner", inner)];
        let files = files.map(|(path, text)| (module(Path::new(path)), text.to_owned()));
        in_cycles(&imports(&files)).len()
    };
    for form in [
        "use crate::a::{self, A};",
        "use crate::{a::A as Other, c};",
        "use super::a::A;",
        "fn b() { crate::a::a() }",
        "fn b(_: Option<super::a::A>) {}",
    ] {
        assert_eq!(cycles("use crate::b::b;", form, ""), 2, "{form}");
    }
    assert_eq!(cycles("use crate::b::b;", "pub fn b() {}", ""), 0);
    assert_eq!(cycles("use crate::b::B;", "mod inner; pub use self::inner::B;", "use crate::a::A;"), 2);
    assert_eq!(cycles("", "mod inner; fn b() { inner::b() }", "use super::b;"), 2);
    assert_eq!(cycles("", "mod inner; pub use self::inner::b;", "use super::b;"), 0);
    let comment_and_tests = "//! crate::a\n#[cfg(test)]\nmod tests { use crate::a::a; }";
    assert_eq!(cycles("use crate::b::b;", comment_and_tests, ""), 0);
}
